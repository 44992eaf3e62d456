// SPDX-License-Identifier: Apache-2.0
// The loss of a model on documents, token by token. Windows of several documents share a row (nn/gpt_trace.h, `packed`), each with
// the values it has in a row of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "executor/engine.h"

namespace reprise {

/// What was scored of a document, or of many.
struct DocumentScore {
  std::string path;
  std::int64_t line = 0;    // of JSON lines, from 1; else 0
  std::int64_t tokens = 0;  // scored
  std::int64_t bytes = 0;   // of their text
  double loss_sum = 0;      // nats

  /// Mean nats a token; NaN without tokens.
  double loss() const;
  double perplexity() const;
  /// Bits a byte of text; NaN without bytes.
  double bits_per_byte() const;
  void add(const DocumentScore& other);
};

struct ScoringOptions {
  std::int64_t block_size = 0;  // positions of a window
  std::int64_t stride = 0;      // tokens from a window's start to the next one's, in [1, block_size]
  std::int64_t rows = 1;        // of a batch
};

/// Scores documents that come token by token, by the engine's program "eval" [rows, block_size], which is packed and gives its
/// token losses.
///
/// Window k of a document holds its tokens from k * stride on. It scores the targets that no window before it has: all of
/// the first, the last `stride` of every other. So each token but a document's first is scored once, with all tokens before it
/// as context where there are at most block_size, else with at least block_size - stride + 1 of them.
class DocumentScorer {
 public:
  using Sink = std::function<void(const DocumentScore&)>;

  /// `take` is given every document, in order, once it is scored. The engine must outlive the scorer.
  DocumentScorer(Engine& engine, const ScoringOptions& options, Sink take);

  void begin(std::string path, std::int64_t line);
  /// Adds tokens, which are to be scored or only read.
  void add(std::span<const std::int32_t> ids, bool scored);
  /// Ends the document; `bytes`: of the text that its scored tokens stand for.
  void end(std::int64_t bytes);
  /// Runs what waits for a full batch.
  void finish();

 private:
  /// A target that the batch scores, and the document it belongs to.
  struct Scored {
    std::size_t place;
    std::size_t document;
  };

  void add_one(std::int32_t id, bool scored);
  void place_window(std::size_t positions);
  void run();
  void give_finished();

  Program& program_;
  ScoringOptions options_;
  Sink take_;
  std::span<std::int64_t> tokens_, targets_, positions_;
  std::size_t losses_output_ = 0;
  bool wide_ = false;  // losses in float64

  std::vector<std::int32_t> window_;  // tokens of the window under way
  std::vector<char> scored_;
  std::size_t first_new_ = 1;         // index in it of the first target not yet scored
  std::int64_t row_ = 0;              // where the next window goes
  std::int64_t column_ = 0;
  std::vector<Scored> batch_;
  std::deque<DocumentScore> documents_;  // those not yet given, the open one last
  std::size_t given_ = 0;
  bool open_ = false;
};

}  // namespace reprise
