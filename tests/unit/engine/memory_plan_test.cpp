// SPDX-License-Identifier: Apache-2.0
// The memory plan's text form, and a validator that rejects every plan that was made wrong.
#include "memory/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/storage.h"
#include "support/expect_error.h"
#include "support/sample_traces.h"

namespace reprise {
namespace {

using test::f32;

/// x -> a = tanh x -> b = a * x -> s = b + p, p' = p - b; t = full; output s + t.
CompiledTrace small() {
  Trace trace;
  Builder b(trace);
  const ValueId p = trace.add_input(f32({64}), Role::param, "p");
  const ValueId x = trace.add_input(f32({64}), Role::batch, "x");
  const ValueId a = b.emit(op::tanh, {x}, NoAttrs{}, "a");
  const ValueId m = b.emit(op::mul, {a, x}, NoAttrs{}, "b");
  const ValueId s = b.emit(op::add, {m, p}, NoAttrs{}, "s");
  b.context.phase = Phase::update;
  const ValueId updated = b.emit(op::sub, {p, m}, NoAttrs{}, "p.new");
  trace.outputs = {s, updated};
  trace.donations = {{0, 1}};
  return test::compile(trace);
}

StoragePlan& find(MemoryPlan& plan, const std::string& value) {
  for (StoragePlan& storage : plan.storages) {
    if (storage.value == value) return storage;
  }
  throw InternalError("no storage " + value);
}

TEST(MemoryPlan, TextParsesBackToAnEqualPlan) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const MemoryPlan plan = test::compile(test::random_trace(seed)).plan;
    EXPECT_EQ(parse_memory_plan(plan.str()), plan);
  }
  MemoryPlan plan = small().plan;
  plan.workspaces.push_back({1, 128, 640});
  plan.library_bytes = 7;
  EXPECT_EQ(parse_memory_plan(plan.str()), plan);
}

TEST(MemoryPlan, UnreadableTextNamesTheLine) {
  EXPECT_USER_ERROR(parse_memory_plan(""), "line 1: expected memory_plan 1");
  EXPECT_USER_ERROR(parse_memory_plan("memory_plan 2 x\n"), "line 1: expected 1");
  EXPECT_USER_ERROR(parse_memory_plan("memory_plan 1 x\n"), "line 2: expected transient");
  const std::string head = "memory_plan 1 x\ntransient 0 bound 0 library 0\n";
  EXPECT_USER_ERROR(parse_memory_plan(head + "at 0 bytes four value y\n"), "line 3: expected bytes");
  EXPECT_USER_ERROR(parse_memory_plan(head + "at 0 bytes 4 value y over z\n"), "line 3: expected onto");
  EXPECT_USER_ERROR(parse_memory_plan(head + "at 0 bytes 4 value y onto z more\n"), "line 3: expected the end of the line");
  EXPECT_USER_ERROR(parse_memory_plan(head + "near 0\n"), "line 3: expected at, slot or workspace");
}

TEST(MemoryPlan, UpdatesInTheSlotAndReusesDyingInputs) {
  MemoryPlan plan = small().plan;
  EXPECT_EQ(find(plan, "p.new").slot, "p");
  EXPECT_EQ(find(plan, "p.new").onto, "p");
  EXPECT_EQ(plan.bound_bytes, plan.transient_bytes);
  EXPECT_EQ(plan.transient_bytes, 2 * 64 * 4) << plan.str();
}

TEST(MemoryPlan, RejectsWhatIsWrong) {
  const CompiledTrace good = small();
  validate_memory_plan(good.claimed, good.plan);
  const auto expect_rejected = [&](const auto& damage, const char* phrase) {
    MemoryPlan plan = good.plan;
    damage(plan);
    EXPECT_INTERNAL_ERROR(validate_memory_plan(good.claimed, plan), phrase);
  };
  expect_rejected([](MemoryPlan& p) { p.storages.pop_back(); }, "has no place");
  expect_rejected([](MemoryPlan& p) { p.storages.push_back(p.storages.back()); }, "is placed twice");
  expect_rejected([](MemoryPlan& p) { p.storages.back().value = "nobody"; }, "is no value of the trace");
  expect_rejected([](MemoryPlan& p) { find(p, "b").bytes -= 4; }, "has other bytes than its type");
  expect_rejected([](MemoryPlan& p) { find(p, "b").offset += 4; }, "is not aligned");
  expect_rejected([](MemoryPlan& p) { find(p, "b").offset = 4096; }, "lies beyond the region");
  expect_rejected([](MemoryPlan& p) { find(p, "a").offset = find(p, "x").offset; }, "overlap while both are alive");
  expect_rejected([](MemoryPlan& p) { p.transient_bytes += 64; }, "the region ends at");
  expect_rejected([](MemoryPlan& p) { p.library_bytes = 1; }, "a library takes");
  expect_rejected([](MemoryPlan& p) { find(p, "p").slot.clear(); }, "");
  expect_rejected([](MemoryPlan& p) { find(p, "p.new").slot.clear(); }, "");
  expect_rejected([](MemoryPlan& p) { find(p, "b").slot = "p"; }, "lies in the slot of p");
  expect_rejected([](MemoryPlan& p) { p.workspaces.push_back({0, 0, 64}); }, "workspace");
  expect_rejected([](MemoryPlan& p) { p.workspaces.push_back({99, 0, 64}); }, "a workspace of no node");
}

/// Whether the storage shares bytes with anything that lives while it does, pair by pair.
bool overlaps(const CompiledTrace& compiled, const MemoryPlan& plan, std::size_t moved) {
  const std::vector<Lifetime> lives = storage_lifetimes(compiled.claimed.trace, StorageMap(compiled.claimed.trace));
  const StoragePlan& one = plan.storages[moved];
  const auto shares = [&](std::int64_t offset, std::int64_t bytes) {
    return offset < one.offset + one.bytes && one.offset < offset + bytes;
  };
  for (std::size_t i = 0; i < plan.storages.size(); ++i) {
    const StoragePlan& other = plan.storages[i];
    const bool together = lives[i].first <= lives[moved].last && lives[moved].first <= lives[i].last;
    if (i != moved && together && other.slot.empty() && other.bytes > 0 && shares(other.offset, other.bytes)) return true;
  }
  return std::any_of(plan.workspaces.begin(), plan.workspaces.end(), [&](const WorkspacePlan& workspace) {
    return lives[moved].first <= workspace.node && workspace.node <= lives[moved].last && shares(workspace.offset, workspace.bytes);
  });
}

TEST(MemoryPlan, RejectsExactlyTheOverlapsOfAMovedStorage) {
  int right = 0;
  int wrong = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const CompiledTrace good = test::compile(test::random_trace(seed));
    const std::vector<StoragePlan>& all = good.plan.storages;
    for (std::size_t s = 0; s < all.size(); ++s) {
      const auto takes_over = [&](const StoragePlan& other) { return other.onto == all[s].value; };
      if (!all[s].slot.empty() || all[s].bytes == 0 || !all[s].onto.empty() || std::any_of(all.begin(), all.end(), takes_over)) continue;
      for (const StoragePlan& target : all) {
        MemoryPlan plan = good.plan;
        plan.storages[s].offset = target.offset;
        plan.transient_bytes = 0;
        for (const StoragePlan& storage : plan.storages) {
          if (storage.slot.empty() && storage.bytes > 0) {
            plan.transient_bytes = std::max(plan.transient_bytes, storage.offset + storage.bytes);
          }
        }
        for (const WorkspacePlan& workspace : plan.workspaces) {
          plan.transient_bytes = std::max(plan.transient_bytes, workspace.offset + workspace.bytes);
        }
        if (overlaps(good, plan, s)) {
          EXPECT_INTERNAL_ERROR(validate_memory_plan(good.claimed, plan), "overlap");
          ++wrong;
        } else {
          EXPECT_NO_THROW(validate_memory_plan(good.claimed, plan)) << seed << ": " << all[s].value;
          ++right;
        }
      }
    }
  }
  EXPECT_GT(right, 100);
  EXPECT_GT(wrong, 100);
}

TEST(MemoryPlan, InPlaceOnlyWhereTheClaimAllowsIt) {
  CompiledTrace good = small();
  for (Claim& claim : good.claimed.claims) claim.in_place.clear();
  EXPECT_INTERNAL_ERROR(validate_memory_plan(good.claimed, good.plan), "the memory plan is wrong");
}

TEST(Schedule, UpdatesRunAsSoonAsTheyMayAndConstantsLate) {
  Trace trace;
  Builder b(trace);
  const ValueId p = trace.add_input(f32({8}), Role::param, "p");
  const ValueId q = trace.add_input(f32({8}), Role::param, "q");
  const ValueId x = trace.add_input(f32({8}), Role::batch, "x");
  const ValueId constant = ops::full(b, Shape{8}, DType::float32, 2);
  const ValueId h = b.emit(op::mul, {x, p}, NoAttrs{}, "h");
  const ValueId y = b.emit(op::mul, {h, q}, NoAttrs{}, "y");
  b.context.phase = Phase::backward;
  const ValueId gq = b.emit(op::mul, {h, y}, NoAttrs{}, "gq");
  const ValueId gh = b.emit(op::mul, {q, y}, NoAttrs{}, "gh");
  const ValueId gp = b.emit(op::mul, {x, gh}, NoAttrs{}, "gp");
  const ValueId end = b.emit(op::mul, {gp, constant}, NoAttrs{}, "end");
  b.context.phase = Phase::update;
  trace.outputs = {b.emit(op::sub, {p, end}, NoAttrs{}, "p.new"), b.emit(op::sub, {q, gq}, NoAttrs{}, "q.new")};
  trace.donations = {{0, 0}, {1, 1}};
  const CompiledTrace compiled = test::compile(trace);
  std::vector<std::string> order;
  for (const Node& node : compiled.claimed.trace.nodes) order.push_back(compiled.claimed.trace[node.outputs[0]].name);
  EXPECT_EQ(order, (std::vector<std::string>{"h", "y", "gq", "gh", "q.new", "gp", "full", "end", "p.new"}));
}

TEST(Schedule, RejectsWrongOrders) {
  const CompiledTrace good = small();
  EXPECT_INTERNAL_ERROR(validate_schedule(good.claimed, std::vector<std::uint32_t>{0, 1, 2}), "holds every node");
  EXPECT_INTERNAL_ERROR(validate_schedule(good.claimed, std::vector<std::uint32_t>{0, 1, 2, 2}), "every node once");
  EXPECT_INTERNAL_ERROR(validate_schedule(good.claimed, std::vector<std::uint32_t>{1, 0, 2, 3}), "runs before what it reads");
  EXPECT_INTERNAL_ERROR(validate_schedule(good.claimed, std::vector<std::uint32_t>{0, 1, 3, 2}), "overwritten before its last reader");
}

}  // namespace
}  // namespace reprise
