// SPDX-License-Identifier: Apache-2.0
// Random programs under random tags, regions and policies: the bits of `none`, the predicted bytes, and plans that the
// validator accepts; plans with an entry dropped, doubled or moved are refused or still right.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "analysis/saved.h"
#include "analysis/storage.h"
#include "autograd/differentiate.h"
#include "base/target.h"
#include "base/error.h"
#include "interpreter/random_inputs.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ops/op_table.h"
#include "ops/verifier.h"
#include "passes/pass_manager.h"
#include "passes/rng.h"
#include "recompute/apply.h"
#include "recompute/solve.h"
#include "recompute/validate.h"
#include "support/random_program.h"
#include "support/sample_traces.h"
#include "support/seeds.h"

namespace reprise {
namespace {

const ExecutorList& executors() {
  static const ExecutorList list = {&reference_executor()};
  return list;
}

ClaimedTrace apply(const ClaimedTrace& claimed, const RecomputePlan& plan) {
  return apply_plan(claimed, plan, [](Node& node, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    return claim_node(node, inputs, outputs, executors(), Target{}, 1);
  });
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  const T& pick(const std::array<T, N>& all) { return all[below(N)]; }

 private:
  std::mt19937_64 random_;
};

/// Puts stretches of the program into regions, some nested, some with policies of their own.
void add_regions(Trace& trace, Dice& dice) {
  static constexpr std::array<std::string_view, 6> kPolicies{"", "=full", "=ops", "=none", "=alternate", "=ops(matmul,mul,exp)"};
  std::size_t start = dice.below(3);
  for (int block = 0; start < trace.nodes.size(); ++block) {
    const std::size_t end = std::min(trace.nodes.size(), start + 1 + dice.below(10));
    const std::string outer = "block" + std::to_string(block) + std::string(dice.pick(kPolicies));
    const std::string inner = outer + "/inner" + std::string(dice.pick(kPolicies));
    const std::size_t from = start + dice.below(end - start);
    const std::size_t to = from + dice.below(end - from + 1);
    for (std::size_t n = start; n < end; ++n) trace.nodes[n].region = n >= from && n < to ? inner : outer;
    start = end + dice.below(3);
  }
}

void add_tags(Trace& trace, Dice& dice) {
  static constexpr std::array<TagKind, 4> kKinds{TagKind::must_save, TagKind::prefer_save, TagKind::prefer_recompute,
                                                 TagKind::must_recompute};
  for (Value& value : trace.values) {
    if (value.producer.valid() && dice.one_in(8)) value.tags.push_back({dice.pick(kKinds), "user"});
  }
}

std::vector<ValueId> floating_inputs(const Trace& trace) {
  std::vector<ValueId> wrt;
  for (const TraceInput& input : trace.inputs) {
    if (is_floating(trace.type(input.value).dtype)) wrt.push_back(input.value);
  }
  return wrt;
}

/// A claimed joint trace of a random program. Its second and third outputs, if any, are forward values too.
ClaimedTrace random_joint(std::uint64_t seed, Dice& dice) {
  Trace program = number_draws(test::random_program(seed)).trace;
  add_regions(program, dice);
  const Trace pure = run_passes(program, std::vector{find_pass("functionalize")});
  JointTrace joint = differentiate(pure, floating_inputs(pure));
  joint.trace.name = "step";
  const Trace clean =
      run_passes(joint.trace, std::vector{find_pass("simplify"), find_pass("cse"), find_pass("dce"), find_pass("renumber")});
  return claim_trace(clean, executors(), Target{}, 1);
}

/// The default list, or one of ops that the programs have.
SaveList random_save_list(Dice& dice) {
  static constexpr std::array<Opcode, 8> kOps{op::mul, op::exp, op::tanh, op::sin, op::sum, op::matmul, op::add, op::philox_dropout};
  if (!dice.one_in(3)) return default_save_list();
  SaveList list;
  for (int i = 0; i < 3; ++i) list.add(dice.pick(kOps));
  return list;
}

std::string random_policy(Dice& dice) {
  static constexpr std::array<std::string_view, 10> kPolicies{"none",      "full",           "layers:2",  "layers:1", "ops",
                                                              "alternate", "regions:block0", "regions:*", "auto",     "tags"};
  return std::string(dice.pick(kPolicies));
}

void expect_same_bits(const std::vector<HostTensor>& found, const std::vector<HostTensor>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(equal_bytes(found[i].bytes(), expected[i].bytes())) << what << ", output " << i;
  }
}

/// Runs the whole of it in an engine: planned memory equals used memory, and the bits are the interpreter's.
void expect_planned_run(const ClaimedTrace& applied, const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& expected,
                        const std::string& what) {
  std::vector<CompiledTrace> programs;
  programs.push_back(test::planned(applied));
  Engine engine(std::move(programs), test::engine_options(executors()));
  EXPECT_EQ(engine.addressed_bytes(), engine.predicted_peak_bytes()) << what;
  Program& program = engine.program(applied.trace.name);
  test::set_all(engine, program, inputs);
  program.run();
  for (std::size_t o = 0; o < expected.size(); ++o) {
    EXPECT_TRUE(equal_bytes(program.output(o), expected[o].bytes())) << what << ", output " << o << " of the engine";
  }
}

/// What the plan says is kept is what backward finds made: no more, no less, the copies under their own names.
void expect_predicted_saved(const Trace& applied, const RecomputePlan& plan) {
  if (plan.empty()) return;
  std::set<std::string> predicted;
  for (const SavedEntry& entry : plan.saved) predicted.insert(entry.value + (entry.how == SavedEntry::How::copy ? ".saved" : ""));
  std::set<std::string> found;
  for (const SavedValue& value : saved_for_backward(applied).values) found.insert(value.name);
  EXPECT_EQ(found, predicted) << plan.str() << print_trace(applied);
}

/// The claimed trace with random tags, and a plan for it; tags that contradict each other or ask for what cannot be are
/// thrown away and drawn again.
SolvedPlan random_plan(ClaimedTrace& claimed, const std::string& policy, Dice& dice) {
  RecomputeOptions options;
  options.policy = parse_policy(policy);
  options.early_stop = !dice.one_in(4);
  options.compat_eager = !options.early_stop && dice.one_in(2);
  options.save_list = random_save_list(dice);
  const ClaimedTrace untagged = claimed;
  for (int attempt = 0;; ++attempt) {
    if (attempt < 20 && dice.one_in(2)) add_tags(claimed.trace, dice);
    try {
      return plan_recompute(claimed.trace, options, SingleNodePricer());
    } catch (const UserError& error) {
      const std::string text = error.what();
      const bool refused = text.find("contradict") != std::string::npos || text.find("must_recompute") != std::string::npos ||
                           text.find("matches '") != std::string::npos;
      if (!refused || attempt > 100) throw;
      if (text.find("matches '") != std::string::npos) options.policy = parse_policy("full");
      claimed = untagged;
    }
  }
}

TEST(RandomRecompute, KeepsEveryBitAndThePredictedBytes) {
  test::for_each_seed([](std::uint64_t seed) {
    Dice dice(seed);
    ClaimedTrace claimed = random_joint(seed, dice);
    const std::vector<HostTensor> inputs = random_inputs(claimed.trace, seed);
    const std::vector<HostTensor> expected = interpret(claimed.trace, inputs);
    for (int round = 0; round < 2; ++round) {
      ClaimedTrace tagged = claimed;
      const std::string policy = random_policy(dice);
      const SolvedPlan solved = random_plan(tagged, policy, dice);
      validate_plan(tagged.trace, solved.plan);
      RecomputeOptions from_file;
      from_file.policy = parse_policy("file:plan.txt");
      from_file.plan_text = solved.plan.str();
      if (!solved.plan.empty()) {
        EXPECT_EQ(plan_recompute(tagged.trace, from_file, SingleNodePricer()).plan, solved.plan);
      }
      const ClaimedTrace applied = apply(tagged, solved.plan);
      const std::vector<std::string> problems = verify(applied.trace);
      EXPECT_TRUE(problems.empty()) << problems[0];
      EXPECT_TRUE(parse_trace(print_trace(applied.trace)) == applied.trace);
      expect_predicted_saved(applied.trace, solved.plan);
      const std::string what = policy + "\n" + solved.plan.str() + print_trace(applied.trace);
      expect_same_bits(interpret(applied.trace, inputs), expected, what);
      expect_planned_run(applied, inputs, expected, what);
      if (testing::Test::HasFailure()) return;
    }
  });
}

/// The first output of some node of the backward phase.
std::string random_anchor(const Trace& trace, Dice& dice) {
  std::vector<std::string> anchors;
  for (const Node& node : trace.nodes) {
    if (node.phase == Phase::backward && !node.outputs.empty()) anchors.push_back(trace[node.outputs[0]].name);
  }
  return anchors[dice.below(anchors.size())];
}

SavedEntry* held_entry(RecomputePlan& plan) {
  const auto held =
      std::find_if(plan.saved.begin(), plan.saved.end(), [](const SavedEntry& entry) { return entry.how == SavedEntry::How::hold; });
  return held == plan.saved.end() ? nullptr : &*held;
}

/// One entry dropped, doubled or put elsewhere: in the order of entries, or before another node of the backward phase.
RecomputePlan mutated(RecomputePlan plan, const Trace& trace, Dice& dice) {
  const bool saved = plan.copies.empty() || (!plan.saved.empty() && dice.one_in(3));
  const auto mutate = [&](auto& entries) {
    const std::size_t i = dice.below(entries.size());
    const auto entry = entries[i];
    const std::size_t kind = dice.below(3);
    if (kind != 1) entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
    if (kind != 0) entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(dice.below(entries.size() + 1)), entry);
  };
  SavedEntry* const held = saved && dice.one_in(3) ? held_entry(plan) : nullptr;
  if (held != nullptr) {
    held->until = random_anchor(trace, dice);
  } else if (saved) {
    mutate(plan.saved);
  } else if (dice.one_in(3)) {
    plan.copies[dice.below(plan.copies.size())].before = random_anchor(trace, dice);
  } else {
    mutate(plan.copies);
  }
  return plan;
}

TEST(RandomRecompute, MutatedPlansAreRefusedOrRight) {
  std::size_t refused = 0;
  std::size_t right = 0;
  test::for_each_seed([&](std::uint64_t seed) {
    Dice dice(seed);
    ClaimedTrace claimed = random_joint(seed, dice);
    const SolvedPlan solved = random_plan(claimed, random_policy(dice), dice);
    if (solved.plan.empty()) return;
    const std::vector<HostTensor> inputs = random_inputs(claimed.trace, seed);
    const std::vector<HostTensor> expected = interpret(claimed.trace, inputs);
    for (int round = 0; round < 8; ++round) {
      const RecomputePlan changed = mutated(solved.plan, claimed.trace, dice);
      try {
        validate_plan(claimed.trace, changed);
      } catch (const UserError&) {
        ++refused;
        continue;
      }
      ++right;
      const ClaimedTrace applied = apply(claimed, changed);
      EXPECT_TRUE(verify(applied.trace).empty());
      expect_same_bits(interpret(applied.trace, inputs), expected, changed.str() + print_trace(applied.trace));
      if (testing::Test::HasFailure()) return;
    }
  });
  if (test::seeds().size() < 20) return;
  EXPECT_GT(refused, right) << "most changes make a plan wrong";
  EXPECT_GT(right, 0U);
}

TEST(RandomRecompute, AutoKeepsNoMoreThanNone) {
  test::for_each_seed([](std::uint64_t seed) {
    Dice dice(seed);
    const ClaimedTrace claimed = random_joint(seed, dice);
    Trace plain = claimed.trace;
    for (Node& node : plain.nodes) node.region = {};
    RecomputeOptions options;
    options.policy = parse_policy("auto");
    const ClaimedTrace unregioned{plain, claimed.claims};
    const SolvedPlan solved = plan_recompute(plain, options, SingleNodePricer());
    validate_plan(plain, solved.plan);
    std::int64_t kept = 0;
    for (const SavedEntry& entry : solved.plan.saved) kept += plain.type(plain.find(entry.value)).bytes();
    std::int64_t none = 0;
    const StorageMap storage(plain);
    std::vector<bool> counted(plain.values.size(), false);
    for (const Node& node : plain.nodes) {
      if (node.phase == Phase::forward) continue;
      for (const ValueId input : node.inputs) {
        const ValueId owner = storage.owner(input);
        const NodeId producer = plain[owner].producer;
        if (!producer.valid() || plain[producer].phase != Phase::forward || counted[owner.index()]) continue;
        counted[owner.index()] = true;
        none += plain.type(owner).bytes();
      }
    }
    EXPECT_LE(kept, none) << solved.plan.str() << print_trace(plain);
  });
}

}  // namespace
}  // namespace reprise
