// SPDX-License-Identifier: Apache-2.0
#include "train/document_packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "support/expect_error.h"
#include "train/batch_sampler.h"

namespace reprise {
namespace {

/// Documents of these lengths; token i is i, so that a token says where it comes from.
struct Text {
  std::vector<std::uint64_t> starts;
  std::vector<std::uint32_t> tokens;

  explicit Text(const std::vector<std::size_t>& lengths) {
    std::size_t total = 0;
    for (const std::size_t length : lengths) {
      starts.push_back(total);
      total += length;
    }
    tokens.resize(total);
    std::iota(tokens.begin(), tokens.end(), 0u);
  }
  TokenView view() const { return std::span(tokens); }
  DocumentPacking packing(std::int64_t block) const { return {starts, static_cast<std::int64_t>(tokens.size()), block}; }
  bool starts_document(std::int64_t token) const {
    return std::find(starts.begin(), starts.end(), static_cast<std::uint64_t>(token)) != starts.end();
  }
};

struct Row {
  std::vector<std::int64_t> inputs, targets, positions;
};

Row row_of(const DocumentPacking& packing, const TokenView& tokens, std::int64_t row) {
  const auto block = static_cast<std::size_t>(packing.block_size());
  Row r{std::vector<std::int64_t>(block), std::vector<std::int64_t>(block), std::vector<std::int64_t>(block)};
  packing.fill<std::int64_t>(row, tokens, r.inputs, r.targets, r.positions);
  return r;
}

TEST(DocumentPacking, FillsRowsByBestFit) {
  const Text text({7, 3, 5, 3, 4});  // 6, 2, 4, 2 and 3 positions
  const DocumentPacking packing = text.packing(6);
  ASSERT_EQ(packing.row_count(), 3);
  EXPECT_EQ(row_of(packing, text.view(), 0).inputs, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  const Row second = row_of(packing, text.view(), 1);
  EXPECT_EQ(second.inputs, (std::vector<std::int64_t>{7, 8, 10, 11, 12, 13}));
  EXPECT_EQ(second.targets, (std::vector<std::int64_t>{8, 9, 11, 12, 13, 14}));
  EXPECT_EQ(second.positions, (std::vector<std::int64_t>{0, 1, 0, 1, 2, 3}));
  const Row third = row_of(packing, text.view(), 2);
  EXPECT_EQ(third.inputs, (std::vector<std::int64_t>{15, 16, 18, 19, 20, 0}));
  EXPECT_EQ(third.targets, (std::vector<std::int64_t>{16, 17, 19, 20, 21, kIgnoredTarget}));
  EXPECT_EQ(third.positions, (std::vector<std::int64_t>{0, 1, 0, 1, 2, 0}));
  EXPECT_EQ(packing.kept_targets(2, text.view()), 5);
}

TEST(DocumentPacking, EveryTargetIsThereOnceAndBehindItsOwnDocument) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 300; ++i) lengths.push_back(1 + i * 37 % 53);
  const Text text(lengths);
  const DocumentPacking packing = text.packing(16);
  std::map<std::int64_t, int> seen;
  std::int64_t kept = 0;
  for (std::int64_t r = 0; r < packing.row_count(); ++r) {
    const Row row = row_of(packing, text.view(), r);
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(row.positions[i], i > 0 && row.positions[i] != 0 ? row.positions[i - 1] + 1 : 0);
      if (row.targets[i] == kIgnoredTarget) continue;
      ++seen[row.targets[i]];
      EXPECT_EQ(row.targets[i], row.inputs[i] + 1);
      if (row.positions[i] != 0) {
        EXPECT_EQ(row.inputs[i], row.inputs[i - 1] + 1);
        EXPECT_FALSE(text.starts_document(row.inputs[i]));
      }
    }
    kept += packing.kept_targets(r, text.view());
  }
  std::int64_t expected = 0;
  for (std::int64_t token = 0; token < text.view().size(); ++token) {
    EXPECT_EQ(seen[token], text.starts_document(token) ? 0 : 1) << token;
    expected += text.starts_document(token) ? 0 : 1;
  }
  EXPECT_EQ(kept, expected);
  // best fit decreasing needs at most 11/9 of the rows of the best packing, and 4
  EXPECT_LE(packing.row_count(), (expected + 15) / 16 * 11 / 9 + 4);
}

TEST(DocumentPacking, LongDocumentsAreCut) {
  const Text text({20});
  const DocumentPacking packing = text.packing(8);
  ASSERT_EQ(packing.row_count(), 3);
  EXPECT_EQ(row_of(packing, text.view(), 0).inputs.front(), 0);
  EXPECT_EQ(row_of(packing, text.view(), 1).inputs.front(), 8);
  EXPECT_EQ(row_of(packing, text.view(), 2).targets, (std::vector<std::int64_t>{17, 18, 19, -100, -100, -100, -100, -100}));
}

TEST(DocumentPacking, DocumentsOfOneTokenPredictNothing) {
  const Text text({1, 1, 1});
  EXPECT_EQ(text.packing(8).row_count(), 0);
  EXPECT_USER_ERROR(BatchSampler(text.packing(8), {.block_size = 8, .micro_batch_size = 1}),
                    "the training text has no document of two tokens");
  EXPECT_USER_ERROR(ValidationBatches(text.packing(8), 2), "the validation text has no document of two tokens");
}

TEST(DocumentPacking, ASamplerDealsEachRowOnceAnEpoch) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 40; ++i) lengths.push_back(2 + i * 5 % 9);
  const Text text(lengths);
  const DocumentPacking packing = text.packing(8);
  const BatchSampler sampler(packing, {.block_size = 8, .micro_batch_size = 1, .seed = 4});
  ASSERT_EQ(sampler.windows_per_epoch(), packing.row_count());
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::map<std::int64_t, int> seen;
    for (std::int64_t i = 0; i < packing.row_count(); ++i) {
      std::vector<std::int64_t> inputs(8), targets(8), positions(8);
      const std::int64_t step = epoch * packing.row_count() + i;
      sampler.fill(step, 0, text.view(), BatchSpans<std::int64_t>{inputs, targets, positions});
      std::int64_t kept = 0;
      for (const std::int64_t target : targets) {
        if (target == kIgnoredTarget) continue;
        ++seen[target];
        ++kept;
      }
      EXPECT_EQ(sampler.kept_targets(step, text.view()), kept);
    }
    for (std::int64_t token = 0; token < text.view().size(); ++token) EXPECT_EQ(seen[token], text.starts_document(token) ? 0 : 1);
  }
}

TEST(DocumentPacking, ValidationBatchesHoldEveryRow) {
  const Text text({5, 3, 9, 4, 4});
  const DocumentPacking packing = text.packing(8);
  const ValidationBatches batches(packing, 2);
  std::int64_t kept = 0;
  for (std::int64_t batch = 0; batch < batches.batch_count(); ++batch) {
    std::vector<std::int64_t> inputs(16, 7), targets(16, 7), positions(16, 7);
    batches.fill(batch, text.view(), BatchSpans<std::int64_t>{inputs, targets, positions});
    kept += 16 - std::count(targets.begin(), targets.end(), kIgnoredTarget);
    EXPECT_EQ(positions[0], 0);
    EXPECT_EQ(positions[8], 0);
  }
  EXPECT_EQ(kept, 20);
}

}  // namespace
}  // namespace reprise
