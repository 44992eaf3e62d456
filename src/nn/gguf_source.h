// SPDX-License-Identifier: Apache-2.0
// The weights of a GGUF file as named tensors; quantized ones are widened as they are read.
#pragma once

#include <filesystem>
#include <string>

#include "io/gguf.h"
#include "nn/tensor_source.h"

namespace reprise {

class GgufSource : public TensorSource {
 public:
  /// Opens the file. UserError as GgufFile::open.
  explicit GgufSource(const std::filesystem::path& path);

  /// UserError for a type that cannot be decoded, naming it.
  void read_rows(std::size_t tensor, std::int64_t first, std::int64_t last, DType dtype, std::span<std::byte> to) const override;
  void release(std::size_t tensor) const override;
  std::string file_of(std::size_t) const override { return name(); }
  std::string name() const override { return file_.path().string(); }

  const GgufFile& file() const { return file_; }

 private:
  GgufFile file_;
};

}  // namespace reprise
