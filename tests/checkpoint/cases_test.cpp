// SPDX-License-Identifier: Apache-2.0
// Every measured case of activation checkpointing, under every form it was measured in: the bits of the plain run, no more bytes
// and no more work than there, and exactly the counts written down. Each prints a line of a table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <set>
#include <string>

#include "checkpoint/case.h"
#include "checkpoint/counts.h"
#include "reference/figures_checkpoint.h"
#include "support/recompute_case.h"
#include "support/reference_directory.h"

namespace reprise::test {

/// Names a case in the test's listing.
void PrintTo(const CheckpointCase& one, std::ostream* stream) { *stream << one.name; }

namespace {

constexpr const char* kOutcomes[] = {"right", "wrong", "error"};

Recomputed run_form(const CheckpointCase& one, const Form& form) {
  ClaimedTrace joint = joint_of([&](Tracer& tracer) { one.model(tracer, form); }, one.trainable);
  RecomputeOptions options;
  options.policy = parse_policy(form.plain ? "none" : "tags");
  options.early_stop = form.early_stop;
  return recompute(std::move(joint), options, false);
}

/// `form` of a size that is soon computed.
std::vector<HostTensor> outputs_of(const CheckpointCase& one, Form form) {
  form.width = 32;
  const Recomputed run = run_form(one, form);
  return interpret(run.applied.trace, random_inputs(run.applied.trace, 5));
}

/// Bytes of kept routing, which reprise never computes again.
std::int64_t kept_routing(const Trace& trace) {
  std::int64_t bytes = 0;
  for (const SavedValue& value : saved_for_backward(trace).values) bytes += value.op == "topk" ? value.bytes : 0;
  return bytes;
}

Counts as_written(const CheckpointCounts& written) {
  Counts counts{written.bytes, written.products, written.attentions, {}};
  std::string_view text = written.again;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::size_t comma = std::min(text.find(','), text.size());
    counts.again[std::string(text.substr(0, space))] = std::stoi(std::string(text.substr(space + 1, comma - space - 1)));
    text.remove_prefix(std::min(comma + 2, text.size()));
  }
  return counts;
}

std::string cell(const Counts& counts) {
  return fmt::format("{} | {} | {} | {}", counts.bytes, counts.products, counts.attentions, counts.again_text());
}

class MeasuredCase : public testing::TestWithParam<CheckpointCase> {};

TEST_P(MeasuredCase, IsRightAndCostsNoMore) {
  const CheckpointCase& one = GetParam();
  const bool in_place = one.name.starts_with("inplace");
  const std::vector<HostTensor> expected = outputs_of(one, form_of(in_place ? "functional" : "none"));
  int rows = 0;
  for (const CheckpointFigure& figure : kCheckpointFigures) {
    if (figure.name != one.name) continue;
    SCOPED_TRACE(figure.form);
    ++rows;
    const Form form = form_of(figure.form);
    const Recomputed run = run_form(one, form);
    const Counts here = counts_of(run.applied.trace, one.attention_is_products);
    const Counts there = as_written(figure.there);
    EXPECT_EQ(here, as_written(figure.here)) << "found " << cell(here) << "\n" << run.plan.str() << print_trace(run.applied.trace);
    if (figure.outcome == Outcome::right) {
      const std::int64_t routing = one.name.starts_with("router") ? kept_routing(run.applied.trace) : 0;
      EXPECT_LE(here.bytes, there.bytes + routing);
      EXPECT_TRUE(runs_no_more(here, there)) << "here " << cell(here) << "; there " << cell(there);
      EXPECT_LE(here.products, there.products);
      EXPECT_LE(here.attentions, there.attentions);
    }
    const std::vector<HostTensor> found = outputs_of(one, form);
    ASSERT_EQ(found.size(), expected.size());
    bool same = true;
    for (std::size_t o = 0; o < found.size(); ++o) same = same && equal_bytes(found[o].bytes(), expected[o].bytes());
    EXPECT_TRUE(same);
    std::cout << fmt::format("| {} | {} | {} | {} | {} | {} |\n", one.name, figure.form, kOutcomes[static_cast<int>(figure.outcome)],
                             cell(there), same ? "right" : "wrong", cell(here));
  }
  EXPECT_GT(rows, 0);
}

INSTANTIATE_TEST_SUITE_P(Every, MeasuredCase, testing::ValuesIn(checkpoint_cases()),
                         [](const auto& one) { return std::string(one.param.name); });

const CheckpointFigure* find_figure(std::string_view name, std::string_view form) {
  for (const CheckpointFigure& figure : kCheckpointFigures) {
    if (figure.name == name && figure.form == form) return &figure;
  }
  return nullptr;
}

bool is_true(const Json* json) { return json != nullptr && json->is_boolean() && json->boolean(); }

Outcome outcome_of(const Json& variant, bool plain) {
  if (!variant.find("error")->is_null()) return Outcome::error;
  for (const char* const against : {"against_none", "against_functional"}) {
    const Json* const compared = variant.find(against);
    if (compared == nullptr || compared->is_null()) continue;
    return is_true(compared->find("loss_bit_equal")) && is_true(compared->find("gradients_bit_equal")) ? Outcome::right : Outcome::wrong;
  }
  EXPECT_TRUE(plain) << "compared with nothing";
  return Outcome::right;
}

TEST(CheckpointFigures, AreWhatWasMeasured) {
  REPRISE_NEEDS_REFERENCE("checkpoint/cases.json");
  const Json root = read_json(reference_directory() / "checkpoint" / "cases.json");
  std::set<std::string> known;
  for (const CheckpointCase& one : checkpoint_cases()) known.emplace(one.name);
  std::size_t rows = 0;
  for (const auto& [name, one] : root.find("cases")->members()) {
    SCOPED_TRACE(name);
    if (!reason_left_out(name).empty()) continue;
    EXPECT_TRUE(known.contains(name)) << "a case that this test does not know";
    const Json& variants = *one.find("variants");
    const Json* const functional = variants.find("functional");
    for (const auto& [form, variant] : variants.members()) {
      SCOPED_TRACE(form);
      ++rows;
      const bool plain = form == "none" || form == "functional";
      const Counts counts = measured_counts(variant, functional != nullptr ? *functional : *variants.find("none"));
      const CheckpointFigure* const figure = find_figure(name, form);
      if (figure == nullptr) {
        ADD_FAILURE() << "not in the table; measured: " << cell(counts);
        continue;
      }
      EXPECT_EQ(as_written(figure->there), counts);
      EXPECT_EQ(figure->outcome, outcome_of(variant, plain));
    }
  }
  EXPECT_EQ(rows, std::size(kCheckpointFigures)) << "the table has rows that were not measured";
}

}  // namespace
}  // namespace reprise::test
