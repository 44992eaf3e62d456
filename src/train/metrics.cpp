// SPDX-License-Identifier: Apache-2.0
// A row is made as JSON once; the CSV line is the same members without their keys.
#include "train/metrics.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <system_error>

#include "base/error.h"
#include "io/json.h"
#include "io/path_query.h"

namespace reprise {

namespace {

constexpr std::string_view kHeader = "step,tokens,loss,val_loss,lr,grad_norm,ms,tokens_per_second,memory_used_bytes";

Json number(const std::optional<double>& value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

Json row_as_json(const MetricsRow& row) {
  return Json::object({{"step", row.step},
                       {"tokens", row.tokens},
                       {"loss", number(row.loss)},
                       {"val_loss", number(row.val_loss)},
                       {"lr", number(row.lr)},
                       {"grad_norm", number(row.grad_norm)},
                       {"ms", number(row.ms)},
                       {"tokens_per_second", number(row.tokens_per_second)},
                       {"memory_used_bytes", row.memory_used_bytes ? Json(*row.memory_used_bytes) : Json()}});
}

std::optional<std::int64_t> step_of_json(std::string_view line, const std::string& name) {
  const Json row = parse_json(line, name);
  const Json* step = row.find("step");
  if (step == nullptr || !step->is_integer()) return std::nullopt;
  return step->integer();
}

std::optional<std::int64_t> step_of_csv(std::string_view line) {
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  if (error != std::errc() || end == line.data() + line.size() || *end != ',') return std::nullopt;
  return step;
}

using StepOf = std::function<std::optional<std::int64_t>(std::string_view line, const std::string& name)>;

/// Returns the whole lines of `text` after `header` whose step is at most `last_step`.
std::string rows_up_to(const std::filesystem::path& path, std::string_view text, std::string_view header,
                       std::int64_t last_step, const StepOf& step_of) {
  std::string kept;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // the process was killed while it wrote this line
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++number;
    if (number == 1 && !header.empty()) {
      if (line == header) continue;
      throw UserError(fmt::format("{}:1: not the columns this program writes: move the file away; found \"{}\"",
                                  path.string(), line));
    }
    const auto step = step_of(line, fmt::format("{}:{}", path.string(), number));
    if (!step) {
      throw UserError(
          fmt::format("{}:{}: a row of metrics without a step: remove the line; found \"{}\"", path.string(), number, line));
    }
    if (*step <= last_step) kept.append(line).push_back('\n');
  }
  return kept;
}

std::unique_ptr<AppendFile> open_rows(const std::filesystem::path& path, std::string_view header,
                                      std::optional<std::int64_t> resume_step, const StepOf& step_of) {
  std::string content;
  if (!header.empty()) content.append(header).push_back('\n');
  if (resume_step && path_exists(path)) {
    content += rows_up_to(path, read_text_file(path), header, *resume_step, step_of);
  }
  AtomicFile file(path);
  file.write(content);
  file.commit();
  return std::make_unique<AppendFile>(path);
}

}  // namespace

std::string metrics_json(const MetricsRow& row) { return write_json(row_as_json(row)); }

std::string_view metrics_csv_header() { return kHeader; }

std::string metrics_csv(const MetricsRow& row) {
  std::string line;
  const Json json = row_as_json(row);
  for (const JsonMember& member : json.members()) {
    if (!line.empty()) line.push_back(',');
    if (!member.value.is_null()) line += write_json(member.value);
  }
  return line;
}

MetricsWriter::MetricsWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resume_step)
    : json_(open_rows(folder / "metrics.jsonl", "", resume_step, step_of_json)),
      csv_(open_rows(folder / "metrics.csv", kHeader, resume_step,
                     [](std::string_view line, const std::string&) { return step_of_csv(line); })) {}

void MetricsWriter::write(const MetricsRow& row) {
  json_->append(metrics_json(row) + '\n');
  csv_->append(metrics_csv(row) + '\n');
}

}  // namespace reprise
