// SPDX-License-Identifier: Apache-2.0
// Traces of GPT models: what goes in and out, generation with a cache against whole passes, text form, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "interpreter/interpreter.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "nn/gpt.h"
#include "nn/gpt_trace.h"
#include "ops/verifier.h"
#include "support/expect_error.h"
#include "support/structure_configs.h"
#include "support/tolerance.h"

namespace reprise {
namespace {

using NamedValues = std::map<std::string, HostTensor>;

/// A model of each family to train here, then one of each structure.
std::vector<GptConfig> all_configs() {
  std::vector<GptConfig> all = test::structure_configs();
  for (const char* name : {"toy-gpt", "toy-llama", "toy-neox"}) all.push_back(named_config(name));
  return all;
}

std::vector<HostTensor> run(const Trace& trace, const NamedValues& values) {
  std::vector<HostTensor> inputs;
  for (const TraceInput& input : trace.inputs) inputs.push_back(values.at(trace[input.value].name));
  return interpret(trace, inputs);
}

/// Adds a program's parameters, at their initial values, and its tables.
void add_persistent(const TracedProgram& program, NamedValues& values) {
  for (const NamedParameter& parameter : program.parameters) {
    HostTensor value(program.trace.type(program.trace.find(parameter.name)));
    initialize(parameter, 1, value.dtype(), value.bytes());
    values.insert_or_assign(parameter.name, value);
  }
  for (const InitialState& state : program.state) values.insert_or_assign(state.name, HostTensor(state.type, state.bytes.data()));
}

HostTensor token_rows(std::int64_t rows, std::int64_t length, std::int64_t vocabulary, std::int64_t first = 0) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t b = 0; b < rows; ++b) {
    for (std::int64_t t = first; t < first + length; ++t) tokens.push_back((13 * b + 7 * t + t * t) % vocabulary);
  }
  return HostTensor::of<std::int64_t>({rows, length}, tokens);
}

std::vector<std::string> input_names(const Trace& trace, Role role) {
  std::vector<std::string> names;
  for (const TraceInput& input : trace.inputs) {
    if (input.role == role) names.push_back(trace[input.value].name);
  }
  return names;
}

TEST(GptTrace, InputsAndOutputs) {
  const GptConfig config = named_config("toy-llama");
  const TracedProgram program = trace_forward_loss(config, {.batch = 3, .length = 8, .output_logits = true});
  const Trace& trace = program.trace;
  EXPECT_EQ(program.parameters, Gpt(config).parameters());
  EXPECT_EQ(input_names(trace, Role::state), (std::vector<std::string>{"rope.cos", "rope.sin"}));
  EXPECT_EQ(input_names(trace, Role::batch), (std::vector<std::string>{"tokens", "targets"}));
  EXPECT_EQ(input_names(trace, Role::scalar), (std::vector<std::string>{"inv_kept"}));
  ASSERT_EQ(trace.outputs.size(), 2u);
  EXPECT_EQ(trace[trace.outputs[0]].name, "loss");
  EXPECT_EQ(trace.type(trace.outputs[0]).str(), "float32[]");
  EXPECT_EQ(trace[trace.outputs[1]].name, "logits");
  EXPECT_EQ(trace.type(trace.outputs[1]).str(), "float32[3, 8, 65]");
  EXPECT_EQ(trace.type(trace.find("rope.cos")).str(), "float32[8, 16]");
}

TEST(GptTrace, NodesKnowTheirModuleAndRegion) {
  const Trace trace = trace_forward_loss(named_config("toy-neox"), {.length = 8}).trace;
  const auto node = std::find_if(trace.nodes.begin(), trace.nodes.end(), [](const Node& n) { return n.opcode == op::gelu; });
  ASSERT_NE(node, trace.nodes.end());
  EXPECT_EQ(node->module.view(), "transformer.h.0.mlp");
  EXPECT_EQ(node->region.view(), "block0");
  EXPECT_EQ(node->source.file.view(), "nn/mlp.cpp");
}

TEST(GptTrace, TracesAreValidAndReadBack) {
  for (GptConfig config : all_configs()) {
    config.set_dropout(0.1);
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      const GptTraceOptions options{.batch = 2, .length = 8, .dtype = dtype};
      for (const Trace& trace : {trace_forward_loss(config, options).trace, trace_eval(config, options).trace,
                                 trace_prefill(config, options, 16).trace, trace_decode(config, options, 16).trace}) {
        SCOPED_TRACE(config.name + " " + trace.name + " " + std::string(dtype_name(dtype)));
        EXPECT_EQ(verify(trace), std::vector<std::string>{});
        EXPECT_TRUE(parse_trace(print_trace(trace), trace.name) == trace);
      }
    }
  }
}

TEST(GptTrace, DropoutIsForTraining) {
  GptConfig config = named_config("toy-gpt");
  config.set_dropout(0.25);
  const auto draws = [](const Trace& trace) {
    return std::count_if(trace.nodes.begin(), trace.nodes.end(), [](const Node& node) {
      return node.opcode == op::dropout || (node.opcode == op::attention && node.as<AttentionAttrs>().dropout > 0);
    });
  };
  const GptTraceOptions options{.length = 8};
  EXPECT_EQ(draws(trace_forward_loss(config, options).trace), 1 + 3 * config.n_layer);
  EXPECT_EQ(draws(trace_eval(config, options).trace), 0);
  EXPECT_EQ(draws(trace_prefill(config, options, 8).trace), 0);
}

TEST(GptTrace, EvaluationSumsTheRows) {
  const GptConfig config = named_config("toy-llama");
  const GptTraceOptions options{.batch = 2, .length = 6, .dtype = DType::float64};
  const TracedProgram loss = trace_forward_loss(config, options);
  const TracedProgram eval = trace_eval(config, options);
  NamedValues values;
  add_persistent(loss, values);
  values["tokens"] = token_rows(2, 6, config.vocab_size);
  HostTensor targets = token_rows(2, 6, config.vocab_size, 1);
  targets.as<std::int64_t>()[4] = -100;
  values["targets"] = targets;
  values["inv_kept"] = HostTensor::scalar<double>(1.0 / 11);
  const double mean = run(loss.trace, values)[0].number();
  const double sum = run(eval.trace, values)[0].number();
  EXPECT_NEAR(mean * 11, sum, test::tolerance(DType::float64, 12) * sum);
  EXPECT_NEAR(mean, std::log(65.0), 0.2);  // fresh weights know nothing
}

/// Documents of one row, their positions counted from 0.
struct Packing {
  std::vector<std::int64_t> lengths;
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t length : lengths) sum += length;
    return sum;
  }
  HostTensor positions() const {
    std::vector<std::int64_t> positions;
    for (const std::int64_t length : lengths) {
      for (std::int64_t t = 0; t < length; ++t) positions.push_back(t);
    }
    return HostTensor::of<std::int64_t>({1, total()}, positions);
  }
};

HostTensor columns(const HostTensor& rows, std::int64_t first, std::int64_t count) {
  const std::span<const std::int64_t> all = rows.as<std::int64_t>();
  return HostTensor::of<std::int64_t>({1, count}, all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

TEST(GptTrace, APackedDocumentIsWhatItIsAlone) {
  const Packing packing{{1, 9, 4, 2}};
  for (const GptConfig& config : all_configs()) {
    GptTraceOptions options{.length = packing.total(), .training = false, .output_logits = true, .token_losses = true, .packed = true};
    options.table_rows = config.block_size;
    const TracedProgram packed = trace_forward_loss(config, options);
    NamedValues values;
    add_persistent(packed, values);
    const HostTensor tokens = token_rows(1, packing.total(), config.vocab_size);
    const HostTensor targets = token_rows(1, packing.total(), config.vocab_size, 1);
    values["tokens"] = tokens;
    values["targets"] = targets;
    values["positions"] = packing.positions();
    values["inv_kept"] = HostTensor::scalar<float>(1);
    const std::vector<HostTensor> together = run(packed.trace, values);
    options.packed = false;
    std::int64_t first = 0;
    for (const std::int64_t length : packing.lengths) {
      SCOPED_TRACE(config.name + " from " + std::to_string(first));
      options.length = length;
      values["tokens"] = columns(tokens, first, length);
      values["targets"] = columns(targets, first, length);
      const std::vector<HostTensor> alone = run(trace_forward_loss(config, options).trace, values);
      for (std::size_t output : {1u, 2u}) {
        const std::size_t bytes = alone[output].bytes().size();
        const std::size_t row = bytes / static_cast<std::size_t>(length);
        EXPECT_EQ(std::memcmp(together[output].bytes().data() + row * static_cast<std::size_t>(first), alone[output].bytes().data(), bytes),
                  0);
      }
      first += length;
    }
  }
}

TEST(GptTrace, PackedRowsHavePositions) {
  const GptConfig config = named_config("toy-gpt");
  const GptTraceOptions options{.length = 8, .dtype = DType::float64, .packed = true};
  const TracedProgram packed = trace_forward_loss(config, options);
  EXPECT_EQ(input_names(packed.trace, Role::batch), (std::vector<std::string>{"tokens", "targets", "positions"}));
  EXPECT_EQ(verify(packed.trace), std::vector<std::string>{});
  EXPECT_TRUE(parse_trace(print_trace(packed.trace), packed.trace.name) == packed.trace);
}

class Generation : public testing::TestWithParam<GptConfig> {};

/// Prefill over 5 of 7 places, then 6 single tokens, against whole passes over the same tokens.
TEST_P(Generation, CachedPassesEqualWholeOnes) {
  const GptConfig& config = GetParam();
  const std::int64_t prompt = 5;
  const std::int64_t total = 11;
  const std::int64_t cache = 16;
  GptTraceOptions options{.batch = 2, .length = 7, .dtype = DType::float64, .table_rows = cache};
  const TracedProgram prefill = trace_prefill(config, options, cache);
  const TracedProgram decode = trace_decode(config, options, cache);
  options.length = total;
  options.output_logits = true;
  const TracedProgram whole = trace_forward_loss(config, options);
  EXPECT_EQ(prefill.state.size(), decode.state.size());
  for (std::size_t i = 0; i < prefill.state.size(); ++i) EXPECT_EQ(prefill.state[i].bytes, whole.state[i].bytes);
  EXPECT_EQ(prefill.parameters, decode.parameters);

  NamedValues values;
  add_persistent(whole, values);
  values["tokens"] = token_rows(2, total, config.vocab_size);
  values["targets"] = values["tokens"];
  values["inv_kept"] = HostTensor::scalar<double>(1);
  const HostTensor logits = run(whole.trace, values)[1];
  const auto expect_position = [&](const HostTensor& row, std::int64_t t) {
    const std::int64_t v = config.padded_vocab_size;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t c = 0; c < v; ++c) {
        const double expected = logits.number(static_cast<std::size_t>((b * total + t) * v + c));
        const double actual = row.number(static_cast<std::size_t>(b * v + c));
        ASSERT_TRUE(test::near(actual, expected, test::tolerance(DType::float64, 256)))
            << "position " << t << ": " << actual << " " << expected;
      }
    }
  };

  values["tokens"] = token_rows(2, 7, config.vocab_size);  // two more than the prompt has: they must not matter
  values["last"] = HostTensor::scalar<std::int64_t>(prompt - 1);
  const auto keep_caches = [&](const Trace& trace, const std::vector<HostTensor>& outputs) {
    ASSERT_EQ(trace.donations.size(), outputs.size() - 1);
    for (const Donation& d : trace.donations) values[trace[trace.inputs[d.input].value].name] = outputs[d.output];
  };
  for (const TraceInput& input : prefill.trace.inputs) {  // what lies in the caches before is not read
    const Value& value = prefill.trace[input.value];
    if (!value.name.starts_with("cache.")) continue;
    values[value.name] =
        HostTensor::from_numbers(value.type, std::vector<double>(static_cast<std::size_t>(value.type.shape.numel()), std::nan("")));
  }
  std::vector<HostTensor> outputs = run(prefill.trace, values);
  expect_position(outputs[0], prompt - 1);
  keep_caches(prefill.trace, outputs);
  for (std::int64_t t = prompt; t < total; ++t) {
    values["token"] = token_rows(2, 1, config.vocab_size, t);
    values["position"] = HostTensor::scalar<std::int64_t>(t);
    outputs = run(decode.trace, values);
    expect_position(outputs[0], t);
    keep_caches(decode.trace, outputs);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Generation, testing::ValuesIn(all_configs()), [](const auto& parameter) {
  std::string name = parameter.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(GptTrace, AWeightThatIsNotTrainedIsAState) {
  for (const GptConfig& config : test::structure_configs()) {
    if (config.n_expert_groups == 0) continue;
    const TracedProgram program = trace_forward_loss(config, {.length = 8});
    const auto is_bias = [](const NamedParameter& p) { return p.name == "transformer.h.1.mlp.gate.e_score_correction_bias"; };
    const auto bias = std::find_if(program.parameters.begin(), program.parameters.end(), is_bias);
    ASSERT_NE(bias, program.parameters.end());
    EXPECT_FALSE(bias->trained);
    const std::vector<std::string> states = input_names(program.trace, Role::state);
    EXPECT_NE(std::find(states.begin(), states.end(), bias->name), states.end());
  }
}

/// A choice of experts may not be made twice: what makes it must not be copied by recomputation.
TEST(GptTrace, RoutingIsNeverRecomputed) {
  int choices = 0;
  for (const GptConfig& config : test::structure_configs()) {
    Trace trace = trace_forward_loss(config, {.length = 8}).trace;
    for (Node& node : trace.nodes) {
      if (node.opcode != op::topk) continue;
      ++choices;
      EXPECT_EQ(node.module.view().substr(node.module.view().size() - 8), "mlp.gate");
      node.phase = Phase::recompute;
      EXPECT_NE(verify(trace), std::vector<std::string>{});
      node.phase = Phase::forward;
    }
  }
  EXPECT_EQ(choices, 2 * 1 + 2 * 3);
}

/// Of 16 positions the short factors are used, of more the long ones.
TEST(GptTrace, LongropeFollowsTheTable) {
  for (const GptConfig& config : test::structure_configs()) {
    if (config.name != "longrope") continue;
    const auto table = [&](std::int64_t rows) { return trace_eval(config, {.length = 8, .table_rows = rows}).state.at(0); };
    const InitialState short_table = table(16);
    const InitialState long_table = table(17);
    EXPECT_EQ(std::memcmp(short_table.bytes.data(), long_table.bytes.data(), 16 * 4), 0);  // position 0
    EXPECT_NE(std::memcmp(short_table.bytes.data() + 16 * 4, long_table.bytes.data() + 16 * 4, 16 * 4), 0);
  }
}

TEST(GptTrace, RefusesLengthsThatDoNotFit) {
  const GptConfig config = named_config("toy-llama");
  EXPECT_USER_ERROR(trace_forward_loss(config, {.length = 65}),
                    "the sequence length must be between 1 and the model's block size 64, not 65");
  EXPECT_USER_ERROR(trace_forward_loss(config, {.batch = 0}), "the batch must hold at least one row, not 0");
  EXPECT_USER_ERROR(trace_decode(config, {}, 65), "the cache length must be between 1 and the model's block size 64, not 65");
  EXPECT_USER_ERROR(trace_prefill(config, {.length = 9}, 8), "the prompt's length must be between 1 and the cache length 8, not 9");
}

}  // namespace
}  // namespace reprise
