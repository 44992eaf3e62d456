// SPDX-License-Identifier: Apache-2.0
#include "recompute/plan.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/shown_text.h"

namespace reprise {
namespace {

constexpr std::string_view kHeader = "recompute plan 1";

/// Words of a line up to its comment, which is kept apart.
struct Line {
  std::vector<std::string_view> words;
  std::string_view comment;
  std::string_view text;
};

Line split_line(std::string_view text) {
  Line line;
  line.text = text;
  if (const std::size_t hash = text.find(" # "); hash != std::string_view::npos) {
    line.comment = text.substr(hash + 3);
    text = text.substr(0, hash);
  }
  while (true) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) return line;
    text.remove_prefix(start);
    const std::size_t end = text.find(' ');
    line.words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return line;
    text.remove_prefix(end);
  }
}

class PlanParser {
 public:
  PlanParser(std::string_view text, std::string_view file) : rest_(without_byte_order_mark(text)), file_(file) {}

  std::vector<RecomputePlan> parse() {
    if (!next()) throw UserError(fmt::format("{}: an empty file holds no recompute plan; reprise plan --out writes one", file_));
    do {
      if (plans_.empty() || is(0, "recompute")) {
        header();
      } else {
        entry();
      }
    } while (next());
    return std::move(plans_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { throw UserError(fmt::format("{}:{}: {}", file_, number_, what)); }

  /// Moves to the next line that holds something.
  bool next() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      std::string_view line = rest_.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      line_ = split_line(line);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (!line_.words.empty() && !line_.words[0].starts_with('#')) return true;
    }
    return false;
  }

  bool is(std::size_t word, std::string_view text) const { return word < line_.words.size() && line_.words[word] == text; }

  std::string value(std::size_t word) const {
    if (word >= line_.words.size() || line_.words[word].size() < 2 || line_.words[word][0] != '%') fail("expected a value, %NAME");
    return std::string(line_.words[word].substr(1));
  }

  void length(std::size_t words) const {
    if (line_.words.size() != words) fail("expected the end of the line");
  }

  RecomputePlan& plan() { return plans_.back(); }

  void header() {
    if (!is(0, "recompute") || !is(1, "plan")) {
      fail(fmt::format("not a recompute plan: the first line reads '{} for TRACE FINGERPRINT'", kHeader));
    }
    if (!is(2, "1")) fail("a recompute plan of another version; this program reads version 1");
    if (!is(3, "for") || line_.words.size() != 6) fail(fmt::format("the first line reads '{} for TRACE FINGERPRINT'", kHeader));
    for (const RecomputePlan& earlier : plans_) {
      if (earlier.trace == line_.words[4]) {
        fail(fmt::format("a second recompute plan for {}; leave one of the two", shown_text(earlier.trace)));
      }
    }
    plans_.emplace_back();
    plan().trace = line_.words[4];
    const std::string_view digits = line_.words[5];
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), plan().fingerprint, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("the fingerprint is a hexadecimal number");
    if (!next() || !is(0, "policy") || line_.words.size() < 2) fail("the second line reads 'policy POLICY'");
    plan().policy = line_.text.substr(line_.text.find("policy") + std::string_view("policy ").size());
  }

  void entry() {
    if (is(0, "replays_whole")) {
      length(1);
      plan().replays_whole = true;
    } else if (is(0, "keep") || is(0, "copy")) {
      plan().saved.push_back({is(0, "keep") ? SavedEntry::How::keep : SavedEntry::How::copy, value(1), {}, std::string(line_.comment)});
      length(2);
    } else if (is(0, "hold")) {
      if (!is(2, "until")) fail("expected 'hold %VALUE until %VALUE'");
      plan().saved.push_back({SavedEntry::How::hold, value(1), value(3), std::string(line_.comment)});
      length(4);
    } else if (is(0, "again")) {
      if (!is(2, "of") || !is(4, "before")) fail("expected 'again %NAME of %VALUE before %VALUE'");
      plan().copies.push_back({value(1), value(3), value(5), std::string(line_.comment)});
      length(6);
    } else {
      fail(fmt::format("expected keep, copy, hold or again, not '{}'", shown_text(line_.words[0])));
    }
  }

  std::string_view rest_;
  std::string_view file_;
  std::size_t number_ = 0;
  Line line_;
  std::vector<RecomputePlan> plans_;
};

class Hash {
 public:
  void text(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
    byte(0);
  }
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<unsigned char>(value >> shift));
  }
  std::uint64_t value() const { return hash_; }

 private:
  // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv
  void byte(unsigned char c) { hash_ = (hash_ ^ c) * 0x100000001b3u; }
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

std::string comment(std::string_view why) { return why.empty() ? std::string() : fmt::format(" # {}", why); }

}  // namespace

std::string RecomputePlan::str() const {
  std::string text = fmt::format("{} for {} {:016x}\npolicy {}\n", kHeader, trace, fingerprint, shown_text(policy, std::string::npos));
  if (replays_whole) text += "replays_whole\n";
  for (const SavedEntry& entry : saved) {
    switch (entry.how) {
      case SavedEntry::How::keep: text += fmt::format("keep %{}", entry.value); break;
      case SavedEntry::How::copy: text += fmt::format("copy %{}", entry.value); break;
      case SavedEntry::How::hold: text += fmt::format("hold %{} until %{}", entry.value, entry.until); break;
    }
    text += comment(entry.why) + '\n';
  }
  for (const CopyEntry& entry : copies) {
    text += fmt::format("again %{} of %{} before %{}{}\n", entry.name, entry.value, entry.before, comment(entry.why));
  }
  return text;
}

std::string plans_text(const std::vector<RecomputePlan>& plans) {
  std::string text;
  for (const RecomputePlan& plan : plans) text += plan.str();
  return text;
}

std::vector<RecomputePlan> parse_plans(std::string_view text, std::string_view file) { return PlanParser(text, file).parse(); }

std::uint64_t trace_fingerprint(const Trace& trace) {
  Hash hash;
  for (const TraceInput& input : trace.inputs) {
    hash.number(static_cast<std::uint64_t>(input.role));
    hash.text(trace[input.value].name);
    hash.text(trace.type(input.value).str());
  }
  for (const Node& node : trace.nodes) {
    hash.text(opcode_name(node.opcode));
    hash.number(static_cast<std::uint64_t>(node.phase));
    for (const ValueId input : node.inputs) hash.text(trace[input].name);
    for (const ValueId output : node.outputs) {
      hash.text(trace[output].name);
      hash.text(trace.type(output).str());
    }
  }
  for (const ValueId output : trace.outputs) hash.text(trace[output].name);
  return hash.value();
}

std::string copy_suffix(std::size_t n) { return fmt::format(".r{}", n); }

}  // namespace reprise
