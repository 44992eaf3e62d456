// SPDX-License-Identifier: Apache-2.0
#include "ir/printer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "ir/attrs_fields.h"
#include "ir/text_form.h"

namespace reprise {
namespace {

class Printer {
 public:
  std::string text;

  void trace(const Trace& trace, std::size_t indent) {
    begin_line(indent);
    text += "trace ";
    word(trace.name);
    text += " {\n";
    const bool in_order = body(trace, indent + 2);
    for (const ValueId output : trace.outputs) {
      begin_line(indent + 2);
      text += "output ";
      value_name(trace, output);
      text += '\n';
    }
    for (const Donation& donation : trace.donations) donate(trace, donation, indent + 2);
    if (!in_order) {
      begin_line(indent + 2);
      text += "ids";
      for (std::size_t i = 0; i < trace.values.size(); ++i) {
        text += ' ';
        value_name(trace, ValueId(i));
      }
      text += '\n';
    }
    begin_line(indent);
    text += "}\n";
  }

  void node(const Trace& trace, const Node& node) {
    if (node.outputs.empty()) text += "()";
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (i != 0) text += ", ";
      typed_value(trace, node.outputs[i]);
    }
    text += " = ";
    text += opcode_name(node.opcode);
    if (node.in_place) text += '_';
    text += '(';
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i != 0) text += ", ";
      value_name(trace, node.inputs[i]);
    }
    text += ')';
    attrs(node.attrs, " ");
    if (node.phase != Phase::forward) (text += ' ') += phase_name(node.phase);
    if (!node.executor.empty()) annotation(" by ", node.executor);
    if (!node.region.empty()) annotation(" in ", node.region);
    if (!node.module.empty()) annotation("  @", node.module);
    if (node.source != SourceLocation{}) {
      text += " at ";
      if (is_plain(node.source.file.view(), kFileCharacters)) {
        text += node.source.file.view();
      } else {
        quoted(node.source.file.view());
      }
      text += ':';
      integer(node.source.line);
    }
  }

  void attrs(const Attrs& all, std::string_view before) {
    std::visit(
        [&](const auto& family) {
          using Family = std::decay_t<decltype(family)>;
          const Family defaults{};
          std::vector<const void*> default_fields;
          for_each_field(defaults, [&](std::string_view, const auto& field) { default_fields.push_back(&field); });
          std::size_t i = 0;
          bool any = false;
          for_each_field(family, [&](std::string_view name, const auto& field) {
            using Field = std::decay_t<decltype(field)>;
            if (field_equal(field, *static_cast<const Field*>(default_fields[i++]))) return;
            if (any) {
              text += ", ";
            } else {
              text += before;
              text += '{';
            }
            any = true;
            text += name;
            text += '=';
            value(field);
          });
          if (any) text += '}';
        },
        all);
  }

  void value(double x) { text += print_double(x); }

 private:
  void begin_line(std::size_t indent) { text.append(indent, ' '); }

  /// Prints inputs and nodes in the order of value ids as far as the order of nodes allows; returns whether reading them
  /// back numbers every value as it is.
  bool body(const Trace& trace, std::size_t indent) {
    std::size_t next = 0;  // the id the next printed value gets when read back
    bool in_order = true;
    std::size_t input = 0;
    const auto print_inputs_before = [&](std::size_t id) {
      while (input < trace.inputs.size() && trace.inputs[input].value.index() < id) {
        in_order = in_order && trace.inputs[input].value.index() == next++;
        print_input(trace, trace.inputs[input++], indent);
      }
    };
    for (const Node& one : trace.nodes) {
      if (!one.outputs.empty()) print_inputs_before(one.outputs.front().index());
      for (const ValueId input_read : one.inputs) print_unprinted_input(trace, input_read, input, in_order, next, indent);
      for (const ValueId output : one.outputs) in_order = in_order && output.index() == next++;
      begin_line(indent);
      node(trace, one);
      text += '\n';
      for (const Trace& sub : one.bodies) this->trace(sub, indent + 2);
    }
    print_inputs_before(SIZE_MAX);
    return in_order && next == trace.values.size();
  }

  void print_input(const Trace& trace, const TraceInput& input, std::size_t indent) {
    begin_line(indent);
    text += "input ";
    typed_value(trace, input.value);
    text += ' ';
    text += role_name(input.role);
    text += '\n';
  }

  /// A node may read an input of a higher id than its own outputs: that input must stand above it.
  void print_unprinted_input(const Trace& trace, ValueId read, std::size_t& input, bool& in_order, std::size_t& next,
                             std::size_t indent) {
    if (read.index() >= trace.values.size() || trace[read].producer.valid()) return;
    const std::size_t position = trace[read].output;
    if (position >= trace.inputs.size() || trace.inputs[position].value != read) return;
    while (input <= position) {
      in_order = in_order && trace.inputs[input].value.index() == next;
      ++next;
      print_input(trace, trace.inputs[input++], indent);
    }
  }

  void donate(const Trace& trace, const Donation& donation, std::size_t indent) {
    begin_line(indent);
    text += "donate ";
    if (donation.input < trace.inputs.size()) {
      value_name(trace, trace.inputs[donation.input].value);
    } else {
      text += "%?";
      integer(donation.input);
    }
    text += " -> ";
    const bool by_name = donation.output < trace.outputs.size() &&
                         std::count(trace.outputs.begin(), trace.outputs.end(), trace.outputs[donation.output]) == 1;
    if (by_name) {
      value_name(trace, trace.outputs[donation.output]);
    } else {
      integer(donation.output);
    }
    text += '\n';
  }

  void typed_value(const Trace& trace, ValueId id) {
    if (id.index() >= trace.values.size()) return value_name(trace, id);
    const Value& one = trace[id];
    text += dtype_name(one.type.dtype);
    value(one.type.shape);
    if (one.type.device == Device::cuda) text += "@cuda";
    text += ' ';
    value_name(trace, id);
    if (one.tags.empty()) return;
    text += " [";
    for (std::size_t i = 0; i < one.tags.size(); ++i) {
      if (i != 0) text += ", ";
      text += tag_name(one.tags[i].kind);
      if (!one.tags[i].source.empty()) annotation(" ", one.tags[i].source);
    }
    text += ']';
  }

  void value_name(const Trace& trace, ValueId id) {
    text += '%';
    if (id.index() < trace.values.size()) return word(trace[id].name);
    text += '?';
    integer(id.value);
  }

  void annotation(std::string_view before, Interned name) {
    text += before;
    word(name.view());
  }

  void word(std::string_view name) {
    if (is_plain(name, kNameCharacters)) {
      text += name;
    } else {
      quoted(name);
    }
  }

  void quoted(std::string_view s) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += '"';
    for (const char c : s) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        (text += '\\') += c;
      } else if (byte < 0x20 || byte == 0x7f) {
        ((text += "\\x") += digits[byte >> 4]) += digits[byte & 15u];
      } else {
        text += c;
      }
    }
    text += '"';
  }

  void integer(std::int64_t x) {
    std::array<char, 24> buffer;
    text.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr);
  }

  void value(std::int64_t x) { integer(x); }
  void value(bool x) { text += x ? "true" : "false"; }
  void value(const std::string& x) { quoted(x); }
  void value(DType x) { text += dtype_name(x); }
  void value(const Shape& x) {
    text += '[';
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (i != 0) text += ", ";
      if (x.dim(i).bounded()) {
        word(x.dim(i).symbol.view());
        text += "<=";
      }
      integer(x[i]);
    }
    text += ']';
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void value(Enum x) {
    text += EnumNames<Enum>::names[static_cast<std::size_t>(x)];
  }
  template <class T>
  void value(const std::vector<T>& x) {
    text += '[';
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i != 0) text += ", ";
      value(x[i]);
    }
    text += ']';
  }
  void value(const CustomFields& x) {
    text += '{';
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i != 0) text += ", ";
      word(x[i].first);
      text += '=';
      const auto* const doubles = std::get_if<std::vector<double>>(&x[i].second);
      if (doubles != nullptr && doubles->empty()) {
        text += kEmptyDoubles;  // "[]" is the empty list of integers
      } else {
        std::visit([this](const auto& one) { value(one); }, x[i].second);
      }
    }
    text += '}';
  }
  template <class T>
  void value(const std::optional<T>& x) {
    if (x) {
      value(*x);
    } else {
      text += "none";
    }
  }
};

}  // namespace

std::string print_double(double x) {
  std::array<char, 40> buffer;
  if (std::isnan(x)) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    if (bits == kQuietNan) return "nan";
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), bits, 16).ptr;
    return "nan:" + std::string(buffer.data(), end);
  }
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // "inf" holds an n
  return text;
}

std::string print_attrs(const Attrs& attrs) {
  Printer printer;
  printer.attrs(attrs, "");
  return printer.text;
}

std::string print_node(const Trace& trace, NodeId node) {
  Printer printer;
  printer.node(trace, trace[node]);
  return printer.text;
}

std::string print_trace(const Trace& trace) {
  Printer printer;
  printer.text.reserve(96 * (trace.nodes.size() + trace.inputs.size() + 4));
  printer.text = "reprise trace " + std::to_string(kTraceFormatVersion) + "\n";
  printer.trace(trace, 0);
  return printer.text;
}

}  // namespace reprise
