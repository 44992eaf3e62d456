// SPDX-License-Identifier: Apache-2.0
#include "ir/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "ir/attrs_fields.h"
#include "ir/printer.h"
#include "ir/scanner.h"
#include "ir/text_form.h"

namespace reprise {
namespace {

constexpr int kMaxDepth = 64;                                                            // of sub-traces in sub-traces
constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 64;  // so that sizes in bytes fit, too

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : in_(text, file) {}

  Trace whole() {
    in_.skip_lines();
    const std::size_t start = in_.position();
    if (in_.plain_word() != "reprise" || in_.plain_word() != "trace") {
      in_.fail_at(start, fmt::format("not a trace: the first line must be 'reprise trace {}'", kTraceFormatVersion));
    }
    const int version = in_.integer<int>("the format's version");
    if (version > kTraceFormatVersion) {
      in_.fail_at(start, fmt::format("the trace was written by a newer reprise, update this one: trace format {}, known up to {}",
                                     version, kTraceFormatVersion));
    }
    if (version < 1) in_.fail_at(start, fmt::format("there is no such version of the trace format: {}", version));
    in_.end_line();
    in_.skip_lines();
    Trace result = trace(0);
    in_.skip_lines();
    if (!in_.at_end()) in_.expected("the end of the text");
    return result;
  }

 private:
  using Names = std::unordered_map<std::string, ValueId>;
  struct Scope {
    Trace trace;
    Names names;
  };

  Trace trace(int depth) {
    if (depth > kMaxDepth) in_.fail(fmt::format("sub-traces nest deeper than {}", kMaxDepth));
    if (in_.plain_word() != "trace") in_.expected("'trace'");
    Scope scope;
    scope.trace.name = in_.name("the trace's name");
    in_.expect("{");
    in_.end_line();
    for (in_.skip_lines(); !in_.accept("}"); in_.skip_lines()) {
      if (in_.at_end()) in_.expected("'}'");
      statement(scope, depth);
    }
    in_.end_line();
    for (const Value& value : scope.trace.values) scope.trace.reserve_name(value.name);
    return std::move(scope.trace);
  }

  void statement(Scope& scope, int depth) {
    const std::string_view word = in_.peek_word();
    if (word == "input") return input(scope);
    if (word == "output") return output(scope);
    if (word == "donate") return donate(scope);
    if (word == "ids") return ids(scope);
    if (word == "trace") return sub_trace(scope, depth);
    node(scope);
  }

  void input(Scope& scope) {
    in_.plain_word();
    const ValueId id = typed_value(scope);
    const std::size_t start = in_.position();
    const std::string_view word = in_.plain_word();
    constexpr Role roles[] = {Role::param, Role::state, Role::batch, Role::scalar, Role::rng};
    const auto* const role = std::find_if(std::begin(roles), std::end(roles), [&](Role r) { return role_name(r) == word; });
    if (role == std::end(roles)) in_.fail_at(start, "expected the input's role: param, state, batch, scalar or rng");
    scope.trace[id].output = static_cast<std::uint32_t>(scope.trace.inputs.size());
    scope.trace.inputs.push_back({id, *role});
    in_.end_line();
  }

  void output(Scope& scope) {
    in_.plain_word();
    scope.trace.outputs.push_back(known_value(scope));
    in_.end_line();
  }

  void donate(Scope& scope) {
    in_.plain_word();
    in_.skip_blanks();
    const std::size_t start = in_.position();
    const ValueId from = known_value(scope);
    if (scope.trace[from].producer.valid()) in_.fail_at(start, "only an input can be donated");
    in_.expect("->");
    in_.skip_blanks();
    std::uint32_t to = 0;
    const auto& outputs = scope.trace.outputs;
    const std::size_t target = in_.position();
    if (in_.peek() == '%') {
      const ValueId value = known_value(scope);
      const auto found = std::find(outputs.begin(), outputs.end(), value);
      if (found == outputs.end()) in_.fail_at(target, "expected an output of the trace, or its index");
      to = static_cast<std::uint32_t>(found - outputs.begin());
    } else {
      to = in_.integer<std::uint32_t>("an output of the trace, or its index");
    }
    scope.trace.donations.push_back({scope.trace[from].output, to});
    in_.end_line();
  }

  /// Renumbers: the values in the order of the list.
  void ids(Scope& scope) {
    in_.plain_word();
    Trace& trace = scope.trace;
    std::vector<ValueId> to_new(trace.values.size());
    std::vector<Value> values;
    for (std::size_t i = 0; i < trace.values.size(); ++i) {
      const std::size_t start = in_.position();
      const ValueId old = known_value(scope);
      if (to_new[old.index()].valid()) in_.fail_at(start, "a value is listed twice");
      to_new[old.index()] = ValueId(i);
      values.push_back(trace[old]);
    }
    in_.end_line();
    trace.values = std::move(values);
    const auto renumber = [&](ValueId& id) { id = to_new[id.index()]; };
    for (Node& node : trace.nodes) {
      std::for_each(node.inputs.begin(), node.inputs.end(), renumber);
      std::for_each(node.outputs.begin(), node.outputs.end(), renumber);
    }
    for (TraceInput& one : trace.inputs) renumber(one.value);
    std::for_each(trace.outputs.begin(), trace.outputs.end(), renumber);
    for (auto& [name, id] : scope.names) renumber(id);
  }

  void sub_trace(Scope& scope, int depth) {
    if (scope.trace.nodes.empty()) in_.fail("a sub-trace stands below the node that carries it, and there is none yet");
    Trace body = trace(depth + 1);
    scope.trace.nodes.back().bodies.push_back(std::move(body));
  }

  void node(Scope& scope) {
    Node node;
    const NodeId id(scope.trace.nodes.size());
    const std::size_t first_value = scope.trace.values.size();
    if (in_.accept("(")) {
      in_.expect(")");
    } else {
      do {
        node.outputs.push_back(typed_value(scope));
      } while (in_.accept(","));
    }
    in_.expect("=");
    opcode(node);
    in_.expect("(");
    if (!in_.accept(")")) {
      do {
        in_.skip_blanks();
        const std::size_t start = in_.position();
        node.inputs.push_back(known_value(scope));
        if (node.inputs.back().index() >= first_value) in_.fail_at(start, "a node cannot read its own output");
      } while (in_.accept(","));
      in_.expect(")");
    }
    node.attrs = default_attrs(node.opcode);
    if (in_.accept("{")) attrs(node);
    annotations(node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      scope.trace[node.outputs[i]].producer = id;
      scope.trace[node.outputs[i]].output = static_cast<std::uint32_t>(i);
    }
    scope.trace.nodes.push_back(std::move(node));
  }

  void opcode(Node& node) {
    in_.skip_blanks();
    const std::size_t start = in_.position();
    std::string_view name = in_.plain_word();
    if (name.empty()) in_.expected("an op's name");
    if (name.ends_with('_')) {
      node.in_place = true;
      name.remove_suffix(1);
    }
    const std::optional<Opcode> found = find_opcode(name);
    if (!found) {
      in_.fail_at(start, fmt::format("there is no op '{}'{}; an op of your own must be registered before its trace is read", name,
                                     nearest_hint(name, opcode_names())));
    }
    node.opcode = *found;
  }

  static std::vector<std::string_view> opcode_names() {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < opcode_count(); ++i) names.push_back(opcode_name(Opcode{static_cast<std::uint16_t>(i)}));
    return names;
  }

  void attrs(Node& node) {
    do {
      in_.skip_blanks();
      const std::size_t start = in_.position();
      const std::string_view wanted = in_.plain_word();
      if (wanted.empty()) in_.expected("an attribute's name");
      in_.expect("=");
      bool found = false;
      std::vector<std::string_view> names;
      for_each_field_mutable(node.attrs, [&](std::string_view name, auto& field) {
        names.push_back(name);
        if (name != wanted) return;
        found = true;
        value(field);
      });
      if (!found) {
        in_.fail_at(start, fmt::format("op '{}' has no attribute '{}'{}", opcode_name(node.opcode), wanted, nearest_hint(wanted, names)));
      }
    } while (in_.accept(","));
    in_.expect("}");
  }

  void annotations(Node& node) {
    for (;;) {
      in_.skip_blanks();
      if (in_.at_end() || in_.peek() == '\n') return in_.end_line();
      if (in_.accept("@")) {
        node.module = in_.name("a module path");
        continue;
      }
      const std::size_t start = in_.position();
      const std::string_view word = in_.plain_word();
      if (word == "by") {
        node.executor = in_.name("an executor's name");
      } else if (word == "in") {
        node.region = in_.name("a region path");
      } else if (word == "at") {
        node.source.file = in_.name("a file name", kFileCharacters);
        in_.expect(":");
        node.source.line = in_.integer<std::uint32_t>("a line number");
      } else if (!phase(word, node)) {
        in_.fail_at(start,
                    "expected '{attributes}', a phase, 'by EXECUTOR', 'in REGION', '@MODULE', 'at FILE:LINE' or the end of the line");
      }
    }
  }

  static bool phase(std::string_view word, Node& node) {
    for (const Phase one : {Phase::forward, Phase::backward, Phase::recompute, Phase::update}) {
      if (word != phase_name(one)) continue;
      node.phase = one;
      return true;
    }
    return false;
  }

  ValueId typed_value(Scope& scope) {
    TensorType type;
    value(type.dtype);
    value(type.shape);
    if (in_.accept("@cuda")) type.device = Device::cuda;
    in_.skip_blanks();
    const std::size_t start = in_.position();
    std::string name = value_name();
    const ValueId id(scope.trace.values.size());
    if (!scope.names.emplace(name, id).second) in_.fail_at(start, fmt::format("the name is taken already in this trace: %{}", name));
    scope.trace.values.push_back({type, std::move(name), {}, NodeId(), 0});
    if (in_.accept("[")) tags(scope.trace.values.back());
    return id;
  }

  void tags(Value& value) {
    do {
      in_.skip_blanks();
      const std::size_t start = in_.position();
      const std::string_view word = in_.plain_word();
      constexpr TagKind kinds[] = {TagKind::must_save, TagKind::prefer_save, TagKind::prefer_recompute, TagKind::must_recompute,
                                   TagKind::offload};
      const auto* const kind = std::find_if(std::begin(kinds), std::end(kinds), [&](TagKind k) { return tag_name(k) == word; });
      if (kind == std::end(kinds)) {
        in_.fail_at(start, "expected a tag: must_save, prefer_save, prefer_recompute, must_recompute or offload");
      }
      Tag tag{*kind, {}};
      in_.skip_blanks();
      if (in_.peek() != ',' && in_.peek() != ']') tag.source = in_.name("who wishes it");
      value.tags.push_back(tag);
    } while (in_.accept(","));
    in_.expect("]");
  }

  std::string value_name() {
    in_.expect("%");
    if (in_.peek() != '"' && !is_word_character(in_.peek(), kNameCharacters)) in_.expected("a value's name");
    return in_.name("a value's name");
  }

  ValueId known_value(const Scope& scope) {
    in_.skip_blanks();
    const std::size_t start = in_.position();
    const std::string name = value_name();
    const auto found = scope.names.find(name);
    if (found == scope.names.end()) in_.fail_at(start, fmt::format("no value of this name stands above: %{}", name));
    return found->second;
  }

  void value(std::int64_t& x) { x = in_.integer<std::int64_t>("an integer"); }
  void value(double& x) { x = in_.floating(); }
  void value(bool& x) {
    const std::size_t start = in_.position();
    const std::string_view word = in_.plain_word();
    if (word != "true" && word != "false") in_.fail_at(start, "expected true or false");
    x = word == "true";
  }
  void value(std::string& x) { x = in_.quoted(); }
  void value(DType& x) {
    in_.skip_blanks();
    const std::size_t start = in_.position();
    const std::string_view word = in_.plain_word();
    const std::optional<DType> found = parse_dtype(word);
    if (!found) {
      constexpr DType all[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int32, DType::int64, DType::boolean};
      std::vector<std::string_view> names;
      for (const DType one : all) names.push_back(dtype_name(one));
      in_.fail_at(start, fmt::format("expected a dtype{}", nearest_hint(word, names)));
    }
    x = *found;
  }
  void value(Shape& x) {
    in_.expect("[");
    x = {};
    if (in_.accept("]")) return;
    std::int64_t elements = 1;
    do {
      Dim dim;
      in_.skip_blanks();
      const std::size_t start = in_.position();
      dim.extent = extent(dim);
      if (dim.extent < 0) in_.fail_at(start, fmt::format("an extent cannot be negative: {}", dim.extent));
      if (dim.extent > kMaxElements / std::max<std::int64_t>(elements, 1)) in_.fail_at(start, "a tensor this large cannot be addressed");
      if (x.rank() == Shape::kMaxRank) in_.fail_at(start, fmt::format("a shape has at most {} dimensions", Shape::kMaxRank));
      elements *= std::max<std::int64_t>(dim.extent, 1);
      x.append(dim);
    } while (in_.accept(","));
    in_.expect("]");
  }
  std::int64_t extent(Dim& dim) {
    if (in_.bound_next()) {
      dim.symbol = in_.name("the symbol of a bounded extent");
      in_.expect("<=");
    }
    return in_.integer<std::int64_t>("an extent");
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void value(Enum& x) {
    in_.skip_blanks();
    const std::size_t start = in_.position();
    const std::string_view word = in_.plain_word();
    const auto& names = EnumNames<Enum>::names;
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) in_.fail_at(start, fmt::format("expected one of {}", fmt::join(names, ", ")));
    x = static_cast<Enum>(found - names.begin());
  }
  template <class T>
  void value(std::optional<T>& x) {
    if (in_.accept("none")) {
      x.reset();
    } else {
      value(x.emplace());
    }
  }
  template <class T>
  void value(std::vector<T>& x) {
    in_.expect("[");
    x.clear();
    if (in_.accept("]")) return;
    do {
      value(x.emplace_back());
    } while (in_.accept(","));
    in_.expect("]");
  }
  void value(CustomFields& x) {
    in_.expect("{");
    x.clear();
    if (in_.accept("}")) return;
    do {
      auto& [name, field] = x.emplace_back(in_.name("a field's name"), CustomValue{});
      in_.expect("=");
      in_.skip_blanks();
      if (in_.accept(kEmptyDoubles)) {
        field = std::vector<double>{};
      } else if (in_.accept("[")) {
        list(field);
      } else if (in_.peek() == '"') {
        field = in_.quoted();
      } else if (in_.peek() == 't' || in_.peek() == 'f') {
        value(field.emplace<bool>());
      } else {
        number(field);
      }
    } while (in_.accept(","));
    in_.expect("}");
  }
  void number(CustomValue& field) {
    if (in_.floating_next()) {
      field = in_.floating();
    } else {
      field = in_.integer<std::int64_t>("true, false, a number, a string or a list");
    }
  }
  /// A list is of floating numbers when its first one is.
  void list(CustomValue& field) {
    in_.skip_blanks();
    if (in_.accept("]")) {
      field = Ints{};
      return;
    }
    const bool floating = in_.floating_next();
    Ints integers;
    std::vector<double> doubles;
    do {
      if (floating) {
        doubles.push_back(in_.floating());
      } else {
        integers.push_back(in_.integer<std::int64_t>("an integer"));
      }
    } while (in_.accept(","));
    in_.expect("]");
    if (floating) {
      field = std::move(doubles);
    } else {
      field = std::move(integers);
    }
  }

  Scanner in_;
};

}  // namespace

Trace parse_trace(std::string_view text, std::string_view file) { return Parser(text, file).whole(); }

}  // namespace reprise
