// SPDX-License-Identifier: Apache-2.0
#include "api/check_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "autograd/differentiate.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/tolerance.h"
#include "compiler/compile.h"
#include "executor/engine.h"
#include "executor/executor_list.h"
#include "interpreter/interpreter.h"
#include "interpreter/sampled_op.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ops/builders.h"
#include "ops/cost.h"
#include "ops/decomposition.h"
#include "ops/op_table.h"
#include "ops/verifier.h"
#include "passes/decompose.h"
#include "passes/rng.h"

namespace reprise::test {
namespace {

std::vector<TensorType> types_of(const Trace& trace, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (const ValueId value : values) types.push_back(trace.type(value));
  return types;
}

/// 64-byte aligned bytes with a margin on both sides, all of one pattern, so that a write beside them shows.
class GuardedBytes {
 public:
  GuardedBytes(std::size_t size, std::byte pattern) : size_(size), pattern_(pattern), bytes_(size + 2 * kMargin + kAlignment, pattern) {
    start_ = kMargin + (kAlignment - reinterpret_cast<std::uintptr_t>(bytes_.data() + kMargin) % kAlignment) % kAlignment;
  }

  std::span<std::byte> inside() { return std::span(bytes_).subspan(start_, size_); }
  bool margins_are_whole() const {
    const auto whole = [this](std::byte b) { return b == pattern_; };
    const std::span<const std::byte> all = bytes_;
    return std::ranges::all_of(all.first(start_), whole) && std::ranges::all_of(all.subspan(start_ + size_), whole);
  }

 private:
  static constexpr std::size_t kMargin = 256;
  static constexpr std::size_t kAlignment = 64;
  std::size_t size_;
  std::byte pattern_;
  std::vector<std::byte> bytes_;  // moving it leaves them in their place
  std::size_t start_;
};

class Checker {
 public:
  Checker(Opcode opcode, const OpSample& sample, OpCheck& result)
      : opcode_(opcode), row_(op_row(opcode)), sample_(sample), result_(result) {}

  void run() {
    const std::size_t before = result_.problems.size();
    const auto sound = [&] { return result_.problems.size() == before; };
    guarded("infer", [&] { types(); });
    if (!sound()) return;  // nothing below could be run
    if (has_trait(row_.traits, Trait::random)) return draws();
    if (row_.evaluate) guarded("evaluate", [&] { evaluation(); });
    if (!sound()) return;  // below, memory has no margins
    if (row_.decompose) guarded("decompose", [&] { parts(); });
    if (!sound()) return;
    guarded("cost", [&] { cost(); });
    if (sample_.differentiable) guarded("the gradient", [&] { gradient(); });
    guarded("the compiled op", [&] { compiled(); });
  }

 private:
  void problem(const std::string& text) { result_.problems.push_back(fmt::format("{}.{}: {}", opcode_name(opcode_), sample_.name, text)); }

  /// Whatever a column throws is a problem of it.
  template <class Check>
  void guarded(std::string_view column, const Check& check) {
    try {
      check();
    } catch (const std::exception& error) {
      problem(fmt::format("{}: {}", column, error.what()));
    }
  }

  void types() {
    const SampledOp op = sampled_op(opcode_, sample_);
    const std::vector<std::string> ill = verify(op.trace);
    if (!ill.empty()) return problem(fmt::format("infer: {}", ill.front()));
    if (!(parse_trace(print_trace(op.trace)) == op.trace)) problem("infer: the trace reads back as another");
  }

  void cost() {
    const SampledOp op = sampled_op(opcode_, sample_);
    const Node& node = op.trace.nodes.at(0);
    const Cost cost = node_cost(node, types_of(op.trace, node.inputs), types_of(op.trace, node.outputs));
    if (!(cost.flops >= 0 && cost.bytes_read >= 0 && cost.bytes_written >= 0)) problem("cost: a figure is negative or no number");
  }

  /// A draw has numbers only once the rng pass gave it some.
  void draws() {
    guarded("the draws", [&] {
      const NumberedDraws drawn = number_draws(sampled_op(opcode_, sample_).trace);
      for (const std::string& ill : verify(drawn.trace)) problem(fmt::format("the draws: {}", ill));
    });
  }

  /// Runs `evaluate` on memory of this pattern; names what is written beside the outputs.
  std::vector<std::vector<std::byte>> evaluated(const SampledOp& op, std::byte pattern) {
    const Node& node = op.trace.nodes.at(0);
    const std::vector<TensorType> in_types = types_of(op.trace, node.inputs);
    const std::vector<TensorType> out_types = types_of(op.trace, node.outputs);
    std::vector<HostTensor> copies = op.inputs;
    std::vector<ArrayRef> inputs;
    for (HostTensor& copy : copies) inputs.push_back({&copy.type(), copy.bytes().data()});
    std::vector<GuardedBytes> memory;
    for (const TensorType& type : out_types) memory.emplace_back(static_cast<std::size_t>(type.bytes()), pattern);
    GuardedBytes scratch(row_.workspace ? static_cast<std::size_t>(row_.workspace(node, in_types, out_types)) : 0, pattern);
    std::vector<ArrayRef> outputs;
    for (std::size_t i = 0; i < out_types.size(); ++i) outputs.push_back({&out_types[i], memory[i].inside().data()});
    const EvalContext::RunBody run_body = [](const Trace& body, std::span<const ArrayRef> in, std::span<const ArrayRef> out) {
      run_body_dense(body, in, out);
    };
    EvalContext context(node, inputs, outputs, run_body, scratch.inside());
    row_.evaluate(context);

    std::vector<std::vector<std::byte>> results;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (!memory[i].margins_are_whole()) problem(fmt::format("evaluate: writes beside output {}, {}", i, out_types[i].str()));
      const auto inside = memory[i].inside();
      results.emplace_back(inside.begin(), inside.end());
    }
    if (!scratch.margins_are_whole()) problem("evaluate: writes beside its workspace");
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (!(copies[i] == op.inputs[i])) problem(fmt::format("evaluate: writes its input {}", i));
    }
    return results;
  }

  static void run_body_dense(const Trace& body, std::span<const ArrayRef> in, std::span<const ArrayRef> out) {
    std::vector<HostTensor> inputs;
    for (const ArrayRef& array : in) inputs.emplace_back(*array.type, array.data);
    const std::vector<HostTensor> results = interpret(body, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) std::memcpy(out[i].data, results[i].bytes().data(), results[i].bytes().size());
  }

  /// In float64 too, where the gradient is looked at.
  void evaluation() {
    for (const bool wide : {false, true}) {
      if (wide && !sample_.differentiable) continue;
      const SampledOp op = sampled_op(opcode_, sample_, wide);
      const auto first = evaluated(op, std::byte{0xA5});
      const auto second = evaluated(op, std::byte{0x5A});
      for (std::size_t i = 0; i < first.size(); ++i) {
        const TensorType& type = op.trace.type(op.trace.nodes[0].outputs[i]);
        if (first[i] != second[i]) {
          return problem(
              fmt::format("evaluate: leaves elements of output {} unwritten, or gives other bits when run again: {}", i, type.str()));
        }
        if (first[i].empty()) continue;
        const HostTensor tensor(type, first[i].data());
        if (const std::size_t bad = tensor.first_nonfinite(); bad != tensor.size()) {
          return problem(fmt::format("evaluate: output {} element {} is {}", i, bad, tensor.number(bad)));
        }
      }
    }
  }

  void parts() {
    for (const bool wide : {false, true}) {
      const SampledOp op = sampled_op(opcode_, sample_, wide);
      const Node& node = op.trace.nodes.at(0);
      const Trace made = decomposition(node, types_of(op.trace, node.inputs));  // throws where the types are not those of `infer`
      decompose_user_ops(made);                                                  // throws where it leads back to itself
      for (const std::string& ill : verify(made)) problem(fmt::format("decompose: {}", ill));
      if (!row_.evaluate || !wide) continue;
      const std::vector<HostTensor> actual = interpret(made, op.inputs);
      const auto expected = evaluated(op, std::byte{0});
      for (std::size_t i = 0; i < actual.size(); ++i) {
        if (expected[i].empty()) continue;
        compare("decompose", i, actual[i], HostTensor(actual[i].type(), expected[i].data()));
      }
    }
  }

  void compare(std::string_view what, std::size_t output, const HostTensor& actual, const HostTensor& expected) {
    std::size_t longest = 64;
    for (const SampleInput& input : sample_.inputs) longest = std::max(longest, static_cast<std::size_t>(input.type.shape.numel()));
    for (std::size_t k = 0; k < actual.size(); ++k) {
      if (near(actual.number(k), expected.number(k), tolerance(DType::float64, static_cast<std::int64_t>(longest)))) continue;
      return problem(
          fmt::format("{}: output {} element {} is {}, evaluate gives {}", what, output, k, actual.number(k), expected.number(k)));
    }
  }

  /// The op with the loss sum(out * weights) over its floating outputs, the weights being further inputs; nothing when it has none.
  std::optional<SampledOp> with_loss() const {
    SampledOp op = sampled_op(opcode_, sample_, true);
    Builder builder(op.trace);
    ValueId loss;
    for (const ValueId out : std::vector<ValueId>(op.trace.outputs)) {
      const TensorType type = builder.type(out);
      if (!is_floating(type.dtype)) continue;
      const ValueId weights = op.trace.add_input(type, Role::batch, "weights");
      op.inputs.push_back(sampled_input({type, -1, 1}, type, 1000 + op.inputs.size()));
      const ValueId term = ops::sum(builder, ops::mul(builder, out, weights));
      loss = loss.valid() ? ops::add(builder, loss, term) : term;
    }
    if (!loss.valid()) return std::nullopt;
    op.trace.outputs = {loss};
    return op;
  }

  void gradient() {
    std::vector<std::size_t> floating;
    for (std::size_t i = 0; i < sample_.inputs.size(); ++i) {
      if (is_floating(sample_.inputs[i].type.dtype)) floating.push_back(i);
    }
    if (floating.empty()) return;
    const std::optional<SampledOp> op = with_loss();
    if (!op) return problem("the gradient: no output is floating; say that the sample is not differentiable");
    std::vector<ValueId> wrt;
    for (const std::size_t i : floating) wrt.push_back(op->trace.inputs[i].value);
    const JointTrace joint = differentiate(op->trace, wrt);
    verify_or_throw(joint.trace, "the vjp");
    const std::vector<HostTensor> results = interpret(joint.trace, op->inputs);
    for (std::size_t f = 0; f < floating.size(); ++f) compare_gradient(*op, floating[f], results.at(1 + f));
  }

  void compare_gradient(const SampledOp& op, std::size_t input, const HostTensor& gradient) {
    const auto loss_at = [&](std::size_t k, double x) {
      std::vector<HostTensor> moved = op.inputs;
      moved[input].as<double>()[k] = x;
      return interpret(op.trace, moved).at(0).number();
    };
    constexpr std::size_t kElements = 24;  // looked at, of each input
    const std::size_t stride = 1 + gradient.size() / kElements;
    for (std::size_t k = 0; k < gradient.size(); k += stride) {
      const double x = op.inputs[input].number(k);
      const double h = kFivePointStep;
      const double slope = (8 * (loss_at(k, x + h) - loss_at(k, x - h)) - (loss_at(k, x + 2 * h) - loss_at(k, x - 2 * h))) / (12 * h);
      if (near(gradient.number(k), slope, difference_tolerance(static_cast<std::int64_t>(gradient.size())))) continue;
      return problem(
          fmt::format("the gradient: input {} element {}: the vjp gives {}, differences {}", input, k, gradient.number(k), slope));
    }
  }

  void compiled() {
    const SampledOp op = sampled_op(opcode_, sample_);
    const CompileOptions options = host_options(make_executor_list("loops,reference"), 1);
    Engine engine({compile_trace(op.trace, options)}, engine_options(options));
    Program& program = engine.program(op.trace.name);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) program.set_input(i, op.inputs[i].bytes());
    program.run();
    const std::vector<HostTensor> expected = interpret(op.trace, op.inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (!std::ranges::equal(program.output(i), expected[i].bytes())) {
        problem(fmt::format("the compiled op: output {} has other bits than the interpreter gives", i));
      }
    }
  }

  Opcode opcode_;
  const OpRow& row_;
  const OpSample& sample_;
  OpCheck& result_;
};

}  // namespace

std::string OpCheck::str() const { return fmt::format("{}", fmt::join(problems, "\n")); }

OpCheck check_op(Opcode opcode, const std::vector<OpSample>& samples) {
  OpCheck result;
  result.samples = samples.size();
  if (samples.empty()) result.problems.push_back(fmt::format("{}: there are no samples to check it on", opcode_name(opcode)));
  for (const OpSample& sample : samples) Checker(opcode, sample, result).run();
  return result;
}

OpCheck check_op(Opcode opcode) {
  const OpRow& row = op_row(opcode);
  return check_op(opcode, row.samples ? row.samples() : std::vector<OpSample>());
}

OpCheck check_op(std::string_view name) {
  if (const std::optional<Opcode> opcode = find_opcode(name)) return check_op(*opcode);
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < opcode_count(); ++i) names.push_back(opcode_name(Opcode{static_cast<std::uint16_t>(i)}));
  throw UserError(fmt::format("there is no op '{}'{}", name, nearest_hint(name, names)));
}

}  // namespace reprise::test
