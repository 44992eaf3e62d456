// SPDX-License-Identifier: Apache-2.0
#include "ir/attrs_fields.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace reprise {
namespace {

bool same_value(const CustomValue& a, const CustomValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a)) return field_equal(*x, std::get<double>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    return std::ranges::equal(*x, std::get<std::vector<double>>(b), [](double p, double q) { return field_equal(p, q); });
  }
  return a == b;
}

/// FNV-1a over 64-bit words.
class Hasher {
 public:
  void word(std::uint64_t x) { state_ = (state_ ^ x) * 0x100000001b3u; }
  void text(std::string_view s) {
    word(s.size());
    for (const char c : s) word(static_cast<unsigned char>(c));
  }
  void field(double x) { word(std::bit_cast<std::uint64_t>(x)); }
  void field(bool x) { word(x ? 1 : 0); }
  void field(std::int64_t x) { word(static_cast<std::uint64_t>(x)); }
  void field(const std::string& x) { text(x); }
  void field(const Shape& x) {
    word(x.rank());
    for (std::size_t i = 0; i < x.rank(); ++i) {
      field(x[i]);
      text(x.dim(i).symbol.view());
    }
  }
  void field(const CustomValue& x) {
    word(x.index());
    std::visit([this](const auto& value) { field(value); }, x);
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void field(Enum x) {
    word(static_cast<std::uint64_t>(x));
  }
  template <class T>
  void field(const std::optional<T>& x) {
    word(x.has_value() ? 1 : 0);
    if (x) field(*x);
  }
  template <class T>
  void field(const std::vector<T>& x) {
    word(x.size());
    for (const T& element : x) field(element);
  }
  void field(const std::pair<std::string, CustomValue>& x) {
    text(x.first);
    field(x.second);
  }
  std::size_t result() const { return static_cast<std::size_t>(state_ ^ (state_ >> 29)); }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace

bool field_equal(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool field_equal(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || field_equal(*a, *b));
}

bool field_equal(const CustomFields& a, const CustomFields& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return x.first == y.first && same_value(x.second, y.second); });
}

bool attrs_equal(const Attrs& a, const Attrs& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using Family = std::decay_t<decltype(x)>;
        std::vector<const void*> others;  // the fields of b, in the order in which x shows its own
        for_each_field(std::get<Family>(b), [&](std::string_view, const auto& field) { others.push_back(&field); });
        bool equal = true;
        std::size_t i = 0;
        for_each_field(x, [&](std::string_view, const auto& field) {
          using Field = std::decay_t<decltype(field)>;
          equal = equal && field_equal(field, *static_cast<const Field*>(others[i++]));
        });
        return equal;
      },
      a);
}

std::size_t attrs_hash(const Attrs& attrs) {
  Hasher hasher;
  hasher.word(attrs.index());
  std::visit([&](const auto& family) { for_each_field(family, [&](std::string_view, const auto& field) { hasher.field(field); }); }, attrs);
  return hasher.result();
}

}  // namespace reprise
