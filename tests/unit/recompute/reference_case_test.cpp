// SPDX-License-Identifier: Apache-2.0
// Three linear layers without bias in a block, x [512, 512]: gate and wq 512 -> 512, output 512 -> 1024, then a sum. Counted
// per policy: matrix products of backward and recomputation in units of 2 * 512^3 operations, and bytes saved in MiB.
// The figures of the compatible forms are what eager systems give, measured with torch 2.15.
#include <gtest/gtest.h>

#include "ops/cost.h"
#include "support/recompute_models.h"

namespace reprise::test {
namespace {

struct Block : Module {
  Block() {
    gate = add_module("gate", Linear(512, 512, false, kSmall));
    wq = add_module("wq", Linear(512, 512, false, kSmall));
    output = add_module("output", Linear(512, 1024, false, kSmall));
  }
  Tensor operator()(const Tensor& x) const { return output(wq(gate(x))); }
  Linear gate, wq, output;
};

void model(Tracer& tracer) {
  const Block block;
  const Tensor x = tracer.input("x", {DType::float32, {512, 512}, Device::cpu}, Role::param);
  Tensor y;
  {
    const Tracer::Scope region = tracer.region("block");
    y = block(x);
  }
  tracer.output(y.sum());
}

struct Counted {
  double units = 0;
  double mib = 0;
};

Counted count(const std::string& policy, bool early_stop = true, bool compat_eager = false) {
  RecomputeOptions options;
  options.policy = parse_policy(policy);
  options.early_stop = early_stop;
  options.compat_eager = compat_eager;
  const Recomputed result = recompute(joint_of(model), options, false);
  const Trace& applied = result.applied.trace;
  Counted counted;
  for (const Node& node : applied.nodes) {
    const bool later = node.phase == Phase::backward || node.phase == Phase::recompute;
    if (later && has_trait(op_row(node.opcode).traits, Trait::matmul)) {
      counted.units += node_cost(applied, node).flops / (2.0 * 512 * 512 * 512);
    }
  }
  counted.mib = static_cast<double>(result.saved_bytes()) / (1024 * 1024);
  return counted;
}

#define EXPECT_COUNTED(counted, expected_units, expected_mib) \
  do {                                                        \
    const Counted found = (counted);                          \
    EXPECT_EQ(found.units, expected_units);                   \
    EXPECT_EQ(found.mib, expected_mib);                       \
  } while (false)

TEST(ReferenceCase, None) { EXPECT_COUNTED(count("none"), 8, 2); }
TEST(ReferenceCase, Alternate) { EXPECT_COUNTED(count("alternate"), 9, 1); }
TEST(ReferenceCase, AlternateForcingGate) { EXPECT_COUNTED(count("alternate:gate"), 10, 0); }
TEST(ReferenceCase, AlternateForcingOutput) { EXPECT_COUNTED(count("alternate:output"), 9, 1); }
TEST(ReferenceCase, FullToTheEnd) { EXPECT_COUNTED(count("full", false), 12, 0); }
TEST(ReferenceCase, Full) { EXPECT_COUNTED(count("full"), 10, 0); }

TEST(ReferenceCase, CompatibleNone) { EXPECT_COUNTED(count("none", false, true), 8, 2); }
TEST(ReferenceCase, CompatibleAlternate) { EXPECT_COUNTED(count("alternate", false, true), 9, 3); }
TEST(ReferenceCase, CompatibleAlternateForcingGate) { EXPECT_COUNTED(count("alternate:gate", false, true), 10, 2); }
TEST(ReferenceCase, CompatibleAlternateForcingOutput) { EXPECT_COUNTED(count("alternate:output", false, true), 11, 1); }
TEST(ReferenceCase, CompatibleAlternateForcingOutputWithEarlyStop) { EXPECT_COUNTED(count("alternate:output", true, true), 9, 1); }
TEST(ReferenceCase, CompatibleFull) { EXPECT_COUNTED(count("full", false, true), 12, 0); }
TEST(ReferenceCase, CompatibleFullWithEarlyStop) { EXPECT_COUNTED(count("full", true, true), 10, 0); }

}  // namespace
}  // namespace reprise::test
