// SPDX-License-Identifier: Apache-2.0
// `reprise run-trace`: runs a printed trace on seeded inputs and prints one line per output, equal wherever the bits are.
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/standard_streams.h"
#include "interpreter/random_inputs.h"
#include "io/file_write.h"
#include "ops/verifier.h"
#include "reprise/error.h"
#include "reprise/op.h"
#include "reprise/trace.h"

namespace reprise {
namespace {

/// States and integer scalars as a training step has them: second moments are not negative, steps count from 1.
HostTensor plausible(const HostTensor& tensor, Role role) {
  const bool state = role == Role::state && is_floating(tensor.dtype());
  const bool counter = role == Role::scalar && !is_floating(tensor.dtype());
  if (!state && !counter) return tensor;
  std::vector<double> numbers = tensor.numbers();
  for (double& number : numbers) number = state ? std::abs(number) : number + 1;
  return HostTensor::from_numbers(tensor.type(), numbers);
}

std::string summary(const std::string& name, const HostTensor& tensor) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  bool nan = false;
  for (const double number : tensor.numbers()) {
    nan = nan || std::isnan(number);
    low = std::min(low, number);
    high = std::max(high, number);
    sum += number;
  }
  const std::uint64_t hash = XXH3_64bits(tensor.bytes().data(), tensor.bytes().size());
  return fmt::format("%{} {}: min {:.6g}, max {:.6g}, mean {:.6g}{}, xxh3 {:016x}\n", name, tensor.type().str(), low, high,
                     sum / static_cast<double>(std::max<std::size_t>(tensor.size(), 1)), nan ? ", holds NaN" : "", hash);
}

Trace read_trace(const std::string& file) {
  Trace trace = parse_trace(read_text_file(file), file == "-" ? "standard input" : file);
  const std::vector<std::string> problems = verify(trace);
  if (!problems.empty()) throw UserError(fmt::format("{}: the trace is ill-formed: {}", file, problems.front()));
  return trace;
}

}  // namespace

int run_run_trace(const ResolvedOptions& options) {
  const CompileOptions compile = compile_options(options);
  if (options.has("ops")) {
    for (const std::string& file : options.get_list("ops")) load_ops(file);
  }
  const PureForward pure = make_pure(read_trace(options.get_text("file")), compile);
  const CompiledTrace compiled = compile_trace(pure.trace, compile);
  Engine engine({compiled}, engine_options(compile, "the trace"));
  Program& program = engine.program(compiled.name);

  const Trace& trace = program.trace();
  const std::vector<HostTensor> inputs = random_inputs(trace, static_cast<std::uint64_t>(options.get_int("seed")));
  for (std::size_t i = 0; i < inputs.size(); ++i) program.set_input(i, plausible(inputs[i], trace.inputs[i].role).bytes());
  program.run();
  for (std::size_t i = 0; i < trace.outputs.size(); ++i) {
    const Value& value = trace[trace.outputs[i]];
    print_output(summary(value.name, HostTensor(value.type, program.output(i).data())));
  }
  return 0;
}

}  // namespace reprise
