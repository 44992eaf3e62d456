// SPDX-License-Identifier: Apache-2.0
#include "io/compressed.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;
constexpr std::size_t kMostInput = std::size_t{1} << 30;  // zlib counts in 32 bits

std::uint32_t byte_at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); }

[[noreturn]] void fail_cut_short(const std::filesystem::path& path, std::string_view what) {
  throw UserError(fmt::format("{} is cut short: its {} data ends early; copy or download it again", path.string(), what));
}

[[noreturn]] void fail_damaged(const std::filesystem::path& path, std::string_view what, std::string_view why) {
  throw UserError(fmt::format("{} is damaged {} data; copy or download it again: {}", path.string(), what, why));
}

class Inflater {
 public:
  Inflater() { REPRISE_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK, "no memory for zlib"); }  // 15: window; 16: gzip's header
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

void inflate_all(std::span<const std::byte> bytes, const std::filesystem::path& path, const ByteSink& sink) {
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::vector<std::byte> piece(kPiece);
  while (true) {
    const std::size_t offered = std::min(bytes.size(), kMostInput);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    bytes = bytes.subspan(offered - stream.avail_in);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      fail_damaged(path, "gzip", stream.msg != nullptr ? stream.msg : "it does not follow the format");
    }
    const std::size_t made = piece.size() - stream.avail_out;
    if (made > 0 && !sink(std::span(piece).first(made))) return;
    if (result == Z_STREAM_END) {
      // Another member may follow; tapes pad with zeros.
      if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; })) return;
      if (compression_of(bytes) != Compression::gzip) fail_damaged(path, "gzip", "something else follows its end");
      inflateReset(&stream);
    } else if (bytes.empty() && made < piece.size()) {
      fail_cut_short(path, "gzip");
    }
  }
}

struct ContextDeleter {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

void unpack_zstd(std::span<const std::byte> bytes, const std::filesystem::path& path, const ByteSink& sink) {
  const std::unique_ptr<ZSTD_DCtx, ContextDeleter> context(ZSTD_createDCtx());
  REPRISE_CHECK(context != nullptr, "no memory for zstd");
  std::vector<std::byte> piece(kPiece);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (true) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);  // 0: a frame ended
    if (ZSTD_isError(left) != 0) fail_damaged(path, "zstd", ZSTD_getErrorName(left));
    if (out.pos > 0 && !sink(std::span(piece).first(out.pos))) return;
    if (left == 0 && in.pos == in.size) return;
    if (in.pos == in.size && out.pos < out.size) fail_cut_short(path, "zstd");
  }
}

}  // namespace

Compression compression_of(std::span<const std::byte> bytes) {
  if (bytes.size() >= 2 && byte_at(bytes, 0) == 0x1F && byte_at(bytes, 1) == 0x8B) return Compression::gzip;
  if (bytes.size() < 4) return Compression::none;
  const std::uint32_t magic = byte_at(bytes, 0) | byte_at(bytes, 1) << 8 | byte_at(bytes, 2) << 16 | byte_at(bytes, 3) << 24;
  const bool skippable = (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
  return magic == ZSTD_MAGICNUMBER || skippable ? Compression::zstd : Compression::none;
}

void decompress(Compression compression, std::span<const std::byte> bytes, const std::filesystem::path& path, const ByteSink& sink) {
  switch (compression) {
    case Compression::gzip: return inflate_all(bytes, path, sink);
    case Compression::zstd: return unpack_zstd(bytes, path, sink);
    case Compression::none: sink(bytes); return;
  }
}

}  // namespace reprise
