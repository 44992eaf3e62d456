// SPDX-License-Identifier: Apache-2.0
// gzip and Zstandard, told apart by their first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace reprise {

enum class Compression : std::uint8_t { none, gzip, zstd };

/// The compression of a file that starts with `bytes` (four are enough).
Compression compression_of(std::span<const std::byte> bytes);

/// Takes bytes piece by piece, in order; false: it has enough.
using ByteSink = std::function<bool(std::span<const std::byte>)>;

/// Decompresses `bytes`, all members or frames of them, in pieces of bounded size. `path` is for errors. UserError when the
/// bytes are cut short or damaged, or something else follows them.
void decompress(Compression compression, std::span<const std::byte> bytes, const std::filesystem::path& path, const ByteSink& sink);

}  // namespace reprise
