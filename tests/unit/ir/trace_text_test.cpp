// SPDX-License-Identifier: Apache-2.0
// Print -> parse -> equal, exact text, parse errors, and the fuzz target's corpus.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/attrs_fields.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "support/expect_error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace reprise {
namespace {

Node make_node(Opcode opcode, std::vector<ValueId> inputs, Attrs attrs) {
  Node node;
  node.opcode = opcode;
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  return node;
}

ValueId add(Trace& trace, Node node, const std::vector<TensorType>& types, std::string_view hint) {
  return trace.nodes[trace.add_node(std::move(node), types, hint).index()].outputs.at(0);
}

const TensorType kSmall{DType::float32, {2, 3}};

/// Everything the text form can show, once.
Trace rich_trace() {
  Trace body;
  body.name = "a body";
  const ValueId bx = body.add_input(kSmall, Role::batch, "x");
  Trace inner = body;
  inner.outputs = {bx};
  Node nested = make_node(op::custom_function, {bx}, CustomAttrs{"twice", {}});
  nested.bodies = {inner, inner};
  body.outputs = {add(body, nested, {kSmall}, "y")};

  Trace trace;
  trace.name = "rich";
  Shape bounded{2};
  bounded.append(Dim{128, "tokens per expert"});
  bounded.append(Dim{5, "n"});
  const ValueId w = trace.add_input({DType::bfloat16, bounded, Device::cuda}, Role::param, "weird \"name\"\n#%\x01");
  const ValueId x = trace.add_input(kSmall, Role::batch, "x:0.y/z-1");
  trace.add_input({DType::int64, {}}, Role::scalar, "");
  trace.add_input({DType::boolean, {0, 4}}, Role::state, "ü");
  trace[w].tags = {{TagKind::must_save, "user"}, {TagKind::offload, ""}, {TagKind::prefer_recompute, "a policy, with [brackets]"}};
  Node in_place = make_node(op::add, {x, x}, NoAttrs{});
  in_place.in_place = true;
  in_place.phase = Phase::backward;
  in_place.module = "transformer.h.3.mlp.fc";
  in_place.region = "block3/attn";
  in_place.executor = "onednn";
  in_place.source = {"dir/model.cpp", 12};
  const ValueId y = add(trace, in_place, {kSmall}, "add");
  const ValueId late = trace.add_input({DType::int64, {}}, Role::rng, "seed");
  Node custom = make_node(op::custom_function, {y, late}, CustomAttrs{"f(x)", {{"flag", true}, {"n", std::int64_t{-3}},
      {"scale", 0.1}, {"whole", 2.0}, {"text", std::string("a\\b\"c\td")}, {"none", Ints{}}, {"no doubles", std::vector<double>{}},
      {"ints", Ints{1, -2}}, {"doubles", std::vector<double>{1.0, -0.0, std::numeric_limits<double>::infinity()}}}});
  custom.bodies = {body, inner};
  custom.source = {"c:\\model file.cpp", 7};
  custom.region = "in";
  custom.module = "by";
  const ValueId z = add(trace, custom, {kSmall, {DType::float64, {}}}, "out");
  add(trace, make_node(op::full, {}, FullAttrs{bounded, DType::float64, std::nan("")}), {{DType::float64, bounded}}, "nan");
  add(trace, make_node(op::full, {}, FullAttrs{{}, DType::float64, std::bit_cast<double>(0xfff8000000001234u)}), {{DType::float64, {}}},
      "nan");
  add(trace, make_node(op::full, {}, FullAttrs{{}, DType::float64, -std::numeric_limits<double>::infinity()}), {{DType::float64, {}}},
      "inf");
  add(trace, make_node(op::full, {}, FullAttrs{{}, DType::float64, -0.0}), {{DType::float64, {}}}, "zero");
  add(trace, make_node(op::clamp, {z}, ClampAttrs{0.1, std::nullopt}), {kSmall}, "clamp");
  add(trace, make_node(op::sum, {z}, ReduceAttrs{Ints{}, true, 1}), {kSmall}, "sum");
  add(trace, make_node(op::sum, {z}, ReduceAttrs{Ints{0, -1}, false, 0}), {{DType::float32, {}}}, "sum");
  add(trace, make_node(op::rope, {z}, RopeAttrs{RopeLayout::gathered}), {kSmall}, "rope");
  trace.add_node(make_node(op::wait, {z}, NoAttrs{}), {}, "");
  trace.outputs = {y, z, y};
  trace.donations = {{1, 1}, {0, 0}, {1, 2}};
  return trace;
}

void expect_round_trip(const Trace& trace) {
  const std::string text = print_trace(trace);
  Trace back;
  ASSERT_NO_THROW(back = parse_trace(text)) << text;
  EXPECT_TRUE(back == trace) << text << "\nreads back as\n" << print_trace(back);
  EXPECT_EQ(print_trace(back), text);
}

TEST(TraceText, RichTraceReadsBackEqual) {
  expect_round_trip(rich_trace());
  expect_round_trip(Trace{});
}

TEST(TraceText, ParsedTraceGoesOnNamingAsTheOriginal) {
  Trace trace;
  const ValueId x = trace.add_input(kSmall, Role::batch, "x");
  add(trace, make_node(op::neg, {x}, NoAttrs{}), {kSmall}, "neg");
  add(trace, make_node(op::neg, {x}, NoAttrs{}), {kSmall}, "neg");
  Trace back = parse_trace(print_trace(trace));
  EXPECT_EQ(back.unique_name("neg"), "neg.3");
  EXPECT_EQ(back.unique_name("x"), "x.2");
}

TEST(TraceText, ValueOrderSurvivesWhateverItIs) {
  Trace trace;
  const ValueId x = trace.add_input(kSmall, Role::batch, "x");
  const ValueId a = add(trace, make_node(op::neg, {x}, NoAttrs{}), {kSmall}, "a");
  const ValueId b = add(trace, make_node(op::exp, {x}, NoAttrs{}), {kSmall}, "b");
  const ValueId late = trace.add_input(kSmall, Role::state, "late");
  trace.outputs = {b, a, late};
  expect_round_trip(trace);
  EXPECT_EQ(print_trace(trace).find("ids"), std::string::npos);
  std::swap(trace.nodes[0], trace.nodes[1]);  // as a schedule does: nodes change place, values keep their ids
  trace[a].producer = NodeId(1);
  trace[b].producer = NodeId(0);
  expect_round_trip(trace);
  std::swap(trace.inputs[0], trace.inputs[1]);
  trace[x].output = 1;
  trace[late].output = 0;
  expect_round_trip(trace);
  EXPECT_NE(print_trace(trace).find("ids %x %a %b %late"), std::string::npos) << print_trace(trace);
}

TEST(TraceText, NodeReadingAnInputOfHigherIdReadsBackEqual) {
  Trace trace;
  const ValueId x = trace.add_input(kSmall, Role::batch, "x");
  const NodeId node = trace.add_node(make_node(op::add, {x, x}, NoAttrs{}), std::vector{kSmall}, "sum");
  const ValueId late = trace.add_input(kSmall, Role::batch, "late");
  trace[node].inputs[1] = late;
  expect_round_trip(trace);
}

TEST(TraceText, TextIsExactly) {
  Trace trace;
  trace.name = "mlp";
  const ValueId x = trace.add_input({DType::float32, {4, 8}}, Role::batch, "x");
  const ValueId w = trace.add_input({DType::float32, {16, 8}}, Role::param, "fc.weight");
  Node linear = make_node(op::linear, {x, w}, NoAttrs{});
  linear.module = "mlp.fc";
  const ValueId h = add(trace, linear, {{DType::float32, {4, 16}}}, "h");
  trace[h].tags = {{TagKind::must_save, "user"}};
  Node gelu = make_node(op::gelu, {h}, GeluAttrs{true});
  gelu.phase = Phase::recompute;
  gelu.executor = "loops";
  gelu.region = "block3/mlp";
  gelu.module = "mlp.act";
  gelu.source = {"model.cpp", 12};
  const ValueId y = add(trace, gelu, {{DType::float32, {4, 16}}}, "y");
  Node in_place = make_node(op::mul_scalar, {y}, ScalarAttrs{0.1});
  in_place.in_place = true;
  trace.outputs = {add(trace, in_place, {{DType::float32, {4, 16}}}, "y")};
  trace.donations = {{0, 0}};
  EXPECT_EQ(print_trace(trace), R"(reprise trace 1
trace mlp {
  input float32[4, 8] %x batch
  input float32[16, 8] %fc.weight param
  float32[4, 16] %h [must_save user] = linear(%x, %fc.weight)  @mlp.fc
  float32[4, 16] %y = gelu(%h) {tanh_form=true} recompute by loops in block3/mlp  @mlp.act at model.cpp:12
  float32[4, 16] %y.2 = mul_scalar_(%y) {value=0.1}
  output %y.2
  donate %x -> %y.2
}
)");
  EXPECT_EQ(print_node(trace, NodeId(2)), "float32[4, 16] %y.2 = mul_scalar_(%y) {value=0.1}");
  EXPECT_EQ(print_attrs(GeluAttrs{}), "");
  EXPECT_EQ(print_attrs(SliceAttrs{1, 0, 4, 2}), "{dim=1, stop=4, step=2}");
}

TEST(TraceText, DoublesReadBackToTheSameBits) {
  std::uint64_t state = 88172645463325252u;
  for (int i = 0; i < 2000; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // xorshift64
    Trace trace;
    add(trace, make_node(op::full, {}, FullAttrs{{}, DType::float64, std::bit_cast<double>(state)}), {{DType::float64, {}}}, "f");
    ASSERT_TRUE(parse_trace(print_trace(trace)) == trace) << std::hex << state;
  }
  EXPECT_EQ(print_double(1), "1.0");
  EXPECT_EQ(print_double(1e-5), "1e-05");
  EXPECT_EQ(print_double(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(TraceText, EveryOpPrintsAndParses) {
  for (std::size_t i = 0; i < kBuiltinOpcodeCount; ++i) {
    Trace trace;
    const Opcode opcode{static_cast<std::uint16_t>(i)};
    add(trace, make_node(opcode, {}, default_attrs(opcode)), {kSmall}, opcode_name(opcode));
    expect_round_trip(trace);
  }
}

TEST(TraceText, UserOpsCarryNamedFields) {
  const Opcode mine = register_opcode("text_test_op");
  Trace trace;
  add(trace, make_node(mine, {}, CustomAttrs{"", {{"alpha", 0.5}}}), {kSmall}, "y");
  expect_round_trip(trace);
  EXPECT_NE(print_trace(trace).find("text_test_op() {fields={alpha=0.5}}"), std::string::npos) << print_trace(trace);
}

TEST(TraceText, AttributesAreEqualByBits) {
  const double nan = std::nan("");
  EXPECT_TRUE(attrs_equal(ScalarAttrs{nan}, ScalarAttrs{nan}));
  EXPECT_FALSE(attrs_equal(ScalarAttrs{0.0}, ScalarAttrs{-0.0}));
  EXPECT_NE(attrs_hash(ScalarAttrs{0.0}), attrs_hash(ScalarAttrs{-0.0}));
  EXPECT_EQ(attrs_hash(ClampAttrs{1.0, {}}), attrs_hash(ClampAttrs{1.0, {}}));
  EXPECT_NE(attrs_hash(ClampAttrs{1.0, {}}), attrs_hash(ClampAttrs{{}, 1.0}));
  EXPECT_FALSE(attrs_equal(DimAttrs{1}, SizeAttrs{1}));
  EXPECT_FALSE(attrs_equal(CustomAttrs{"f", {{"x", 1.0}}}, CustomAttrs{"f", {{"x", std::int64_t{1}}}}));
}

TEST(TraceText, BlanksCommentsAndLineEndsAreFree) {
  const Trace trace = parse_trace("# a comment\nreprise trace 1\r\n\n trace t{\n  input float32[2,3]%x batch # the input\n"
                                  "\tfloat32 [ 2,3 ] %y=relu( %x )@m forward\n\n output %y\r\n} # end");
  ASSERT_EQ(trace.nodes.size(), 1u);
  EXPECT_EQ(trace.nodes[0].module.view(), "m");
  expect_round_trip(trace);
}

std::string with_line(std::string_view line) {
  return "reprise trace 1\ntrace t {\n  input float32[2] %x batch\n  " + std::string(line) + "\n}\n";
}

TEST(TraceText, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_USER_ERROR(parse_trace("hello", "f.trace"), "f.trace:1:1: not a trace: the first line must be 'reprise trace 1'");
  EXPECT_USER_ERROR(parse_trace("reprise trace 2\n"), "written by a newer reprise, update this one: trace format 2, known up to 1");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[99999999999999999999] %y = relu(%x)")), "an extent is out of range");
  EXPECT_USER_ERROR(parse_trace("reprise trace 0\n"), "there is no such version of the trace format: 0");
  EXPECT_USER_ERROR(parse_trace("reprise trace 1\n"), "expected 'trace', found the end of the text");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = rleu(%x)")), "trace:4:19: there is no op 'rleu'; did you mean \"relu\"?");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = gelu(%x) {tanh_from=true}")),
                    "op 'gelu' has no attribute 'tanh_from'; did you mean \"tanh_form\"?");
  EXPECT_USER_ERROR(parse_trace(with_line("float23[2] %y = relu(%x)")), "expected a dtype; did you mean \"float32\"?");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = relu(%z)")), "no value of this name stands above: %z");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = relu(%y)")), "a node cannot read its own output");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %x = relu(%x)")), "the name is taken already in this trace: %x");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = relu(%x")), "expected ')', found the end of the line");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = relu(%x) sideways")), "expected '{attributes}', a phase");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[-2] %y = relu(%x)")), "an extent cannot be negative: -2");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[1, 1, 1, 1, 1, 1, 1, 1, 1] %y = relu(%x)")), "at most 8 dimensions");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[4294967296, 4294967296] %y = relu(%x)")), "a tensor this large cannot be addressed");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[<=4] %y = relu(%x)")), "expected an extent, found '<'");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = gelu(%x) {tanh_form=maybe}")), "expected true or false");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = rope(%x) {layout=odd}")), "expected one of half, interleaved, gathered");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = mul_scalar(%x) {value=much}")), "expected a number, found 'much'");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = mul_scalar(%x) {value=1e999}")), "the number does not fit in float64");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = mul_scalar(%x) {value=nan:1}")), "expected the bits of a NaN in hexadecimal");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y [must] = relu(%x)")), "expected a tag: must_save");
  EXPECT_USER_ERROR(parse_trace(with_line("input float32[2] %y weight")), "expected the input's role: param, state, batch, scalar or rng");
  EXPECT_USER_ERROR(parse_trace(with_line("donate %x -> %x")), "expected an output of the trace, or its index");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = relu(%x)\n  output %y\n  donate %y -> %y")), "only an input can be donated");
  EXPECT_USER_ERROR(parse_trace(with_line("trace u {")), "a sub-trace stands below the node that carries it");
  EXPECT_USER_ERROR(parse_trace(with_line("ids %x %x")), "expected the end of the line, found '%'");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %y = relu(%x)\n  ids %x %x")), "a value is listed twice");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %\"y = relu(%x)")), "expected a closing '\"'");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %\"y\\n\" = relu(%x)")), "unknown escape, there are");
  EXPECT_USER_ERROR(parse_trace(with_line("float32[2] %\"y\\xg1\" = relu(%x)")), "expected two hexadecimal digits");
  EXPECT_USER_ERROR(parse_trace("reprise trace 1\ntrace t {\n"), "expected '}', found the end of the text");
  EXPECT_USER_ERROR(parse_trace(with_line("") + "more"), "expected the end of the text, found 'more'");
  std::string deep = "reprise trace 1\n";
  for (int i = 0; i < 100; ++i) deep += "trace t {\n() = copy()\n";
  EXPECT_USER_ERROR(parse_trace(deep), "sub-traces nest deeper than 64");
}

TEST(TraceText, IllFormedTracesPrintAndAreRefused) {
  Trace trace;
  trace.add_node(make_node(op::neg, {ValueId(7)}, NoAttrs{}), std::vector{kSmall}, "y");
  trace.donations = {{3, 4}};
  const std::string text = print_trace(trace);
  EXPECT_NE(text.find("neg(%?7)"), std::string::npos) << text;
  EXPECT_USER_ERROR(parse_trace(text), "expected a value's name, found '?'");
}

TEST(TraceText, ManyNodesReadBackEqual) {
  Trace trace;
  ValueId x = trace.add_input(kSmall, Role::batch, "x");
  for (int i = 0; i < 100000; ++i) x = add(trace, make_node(op::add, {x, x}, NoAttrs{}), {kSmall}, "add");
  trace.outputs = {x};
  const std::string text = print_trace(trace);
  EXPECT_TRUE(parse_trace(text) == trace);
}

TEST(TraceText, FuzzTargetSurvivesItsCorpus) {
  const std::string text = print_trace(rich_trace());
  const auto run = [](const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  };
  run(text);
  for (std::size_t i = 0; i < text.size(); ++i) run(text.substr(0, i));
  std::uint64_t state = 1;
  for (int i = 0; i < 4000; ++i) {
    std::string changed = text;
    for (int edits = 0; edits < 3; ++edits) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::size_t at = (state >> 33) % changed.size();
      const std::size_t from = (state >> 20) % text.size();
      if (state % 3 == 0) changed[at] = static_cast<char>(state >> 56);
      if (state % 3 == 1) changed.erase(at, 1 + (state >> 50) % 8);
      if (state % 3 == 2) changed.insert(at, text.substr(from, 1 + (state >> 50) % 12));
    }
    run(changed);
  }
}

}  // namespace
}  // namespace reprise
