// SPDX-License-Identifier: Apache-2.0
// The parameters of a compiled model, read, written, saved and loaded by name.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/array_view.h"
#include "ir/shape.h"

namespace reprise {

struct Session;

struct ParameterInfo {
  std::string name;  // "transformer.h.0.attn.qkv.weight"
  TensorType type;
};

/// A handle to the memory that the programs of one step or function share; copies are the same memory. Not to be used while one of
/// the programs runs.
class Parameters {
 public:
  explicit Parameters(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  /// All of them, in the order the module registers them.
  std::vector<ParameterInfo> list() const;
  /// The elements of a parameter, row-major, as they change while a step runs. UserError when there is none of this name (naming the
  /// nearest), or T is not its dtype.
  template <class T>
  std::span<const T> read(std::string_view name) const {
    return elements_of<const T>(read_bytes(name, dtype_of<T>()));
  }
  /// The elements widened to float.
  std::vector<float> read_floats(std::string_view name) const;
  /// Replaces a parameter, and its float32 master where it has one; moments stay. Elements are of the parameter's dtype; float ones
  /// are rounded to a bfloat16 parameter. UserError when name, dtype or size do not fit.
  void write(std::string_view name, ArrayView elements);

  /// Writes all parameters as one safetensors file, which appears whole or not at all.
  void save(const std::filesystem::path& path) const;
  /// Reads such a file, bit for bit. UserError, before anything is changed, when a tensor is missing, unknown, or of another dtype
  /// or shape.
  void load(const std::filesystem::path& path);

 private:
  std::span<const std::byte> read_bytes(std::string_view name, DType dtype) const;

  std::shared_ptr<Session> session_;
};

}  // namespace reprise
