// SPDX-License-Identifier: Apache-2.0
#include "io/gguf.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/mutated_corpus.h"
#include "support/temporary_directory.h"

extern "C" int fuzz_gguf(const std::uint8_t* data, std::size_t size);

namespace reprise {
namespace {

using test::GgufBuilder;
using test::raw;
using test::raw_string;

constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_1 = 3, kQ8_0 = 8, kBf16 = 30, kIq2Xxs = 16;

GgufContent parse(const std::string& file) { return parse_gguf(std::as_bytes(std::span(file)), "m.gguf"); }

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string half(float x) { return raw(to_float16(x).bits); }

std::vector<float> decoded(const GgufTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / static_cast<std::size_t>(tensor.type->block_bytes) *
                            static_cast<std::size_t>(tensor.type->block_elements));
  decode_ggml(*tensor.type, tensor.bytes, values);
  return values;
}

TEST(Gguf, ReadsAFileAssembledByHand) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder builder;
    builder.version = version;
    builder.value("general.architecture", "llama").value("llama.block_count", std::uint32_t{3});
    builder.tensor("a", {2, 3}, kF32, std::string(24, 'a')).tensor("b", {}, kF16, "bb").tensor("none", {0, 5}, kF32, "");
    const test::TemporaryDirectory folder;
    test::put_file(folder / "m.gguf", builder.build());
    GgufFile file = GgufFile::open(folder / "m.gguf");
    const GgufFile moved = std::move(file);
    EXPECT_EQ(moved.version(), version);
    ASSERT_EQ(moved.tensors().size(), 3u);
    EXPECT_EQ(moved.find_tensor("a")->shape, (std::vector<std::int64_t>{3, 2}));
    EXPECT_EQ(moved.find_tensor("a")->type->name, "F32");
    EXPECT_EQ(text_of(moved.find_tensor("a")->bytes), std::string(24, 'a'));
    EXPECT_TRUE(moved.find_tensor("b")->shape.empty());
    EXPECT_EQ(text_of(moved.find_tensor("b")->bytes), "bb");
    EXPECT_TRUE(moved.find_tensor("none")->bytes.empty());
    EXPECT_EQ(moved.find_tensor("c"), nullptr);
    EXPECT_EQ(to_json(*moved.find("general.architecture")), Json("llama"));
    EXPECT_EQ(moved.find("llama"), nullptr);
    EXPECT_EQ(metadata_json(moved, "llama."), Json::object({{"llama.block_count", 3}}));
    moved.release(moved.find_tensor("a")->bytes);
    EXPECT_EQ(text_of(moved.find_tensor("a")->bytes), std::string(24, 'a'));
  }
}

TEST(Gguf, ReadsEveryTypeOfMetadata) {
  GgufBuilder builder;
  builder.value("u8", 0, raw(std::uint8_t{200})).value("i8", 1, raw(std::int8_t{-100}));
  builder.value("u16", 2, raw(std::uint16_t{60000})).value("i16", 3, raw(std::int16_t{-30000}));
  builder.value("u32", 4, raw(std::uint32_t{4000000000})).value("i32", 5, raw(std::int32_t{-2000000000}));
  builder.value("f32", 6, raw(0.1f)).value("no", false).value("yes", true).value("text", "tëxt");
  builder.value("u64", 10, raw(std::uint64_t{1} << 62)).value("u64_large", 10, raw(std::uint64_t{1} << 63));
  builder.value("i64", 11, raw(std::numeric_limits<std::int64_t>::min())).value("f64", 12, raw(0.1));
  builder.value("texts", std::vector<std::string>{"a", "", "b c"}).value("numbers", std::vector<std::int32_t>{1, -2});
  builder.value("flags", 9, raw(std::uint32_t{7}) + raw(std::uint64_t{2}) + std::string("\1\0", 2));
  builder.value("nested", 9, raw(std::uint32_t{9}) + raw(std::uint64_t{2}) + raw(std::uint32_t{0}) + raw(std::uint64_t{3}) + "\1\2\3" +
                                 raw(std::uint32_t{8}) + raw(std::uint64_t{1}) + raw_string("deep"));
  Json all = Json::object();
  const std::string file = builder.build();
  for (const GgufValue& value : parse(file).metadata) all.set(value.key, to_json(value));
  EXPECT_EQ(write_json(all, kCompact),
            R"({"u8":200,"i8":-100,"u16":60000,"i16":-30000,"u32":4000000000,"i32":-2000000000,"f32":0.10000000149011612,)"
            R"("no":false,"yes":true,"text":"tëxt","u64":4611686018427387904,"u64_large":9223372036854775808.0,)"
            R"("i64":-9223372036854775808,"f64":0.1,"texts":["a","","b c"],"numbers":[1,-2],"flags":[true,false],)"
            R"("nested":[[1,2,3],["deep"]]})");
}

TEST(Gguf, AlignmentIsTheFilesOwn) {
  GgufBuilder builder;
  builder.alignment = 64;
  builder.value("general.alignment", std::uint32_t{64});
  builder.tensor("a", {1}, kF32, "abcd").tensor("b", {1}, kF32, "efgh");
  const std::string file = builder.build();
  const GgufContent content = parse(file);
  EXPECT_EQ(text_of(content.tensors[1].bytes), "efgh");
  EXPECT_EQ(content.tensors[1].bytes.data() - content.tensors[0].bytes.data(), 64);
}

TEST(Gguf, DecodesEveryType) {
  // Two blocks of each: element j of block b is made so that its value is known.
  std::string q8, q4_0, q4_1, f16, bf16;
  std::vector<float> expected_q8, expected_q4_0, expected_q4_1, expected_plain;
  for (int b = 0; b < 2; ++b) {
    const float d = b == 0 ? 0.5f : -0.0625f;
    q8 += half(d);
    q4_0 += half(d);
    q4_1 += half(d) + half(3.25f);
    for (int j = 0; j < 32; ++j) {
      const int q = (j * 37 + b) % 256 - 128;
      q8 += raw(static_cast<std::int8_t>(q));
      expected_q8.push_back(d * static_cast<float>(q));
      const float plain = static_cast<float>(q) / 16;
      f16 += half(plain);
      bf16 += raw(to_bfloat16(plain).bits);
      expected_plain.push_back(plain);
    }
    const auto nibble = [b](int j) { return (j * 7 + b) % 16; };
    for (int j = 0; j < 16; ++j) {
      const auto byte = static_cast<char>(nibble(j) | (nibble(j + 16) << 4));
      q4_0 += byte;
      q4_1 += byte;
    }
    for (int j = 0; j < 32; ++j) {
      expected_q4_0.push_back(d * static_cast<float>(nibble(j) - 8));
      expected_q4_1.push_back(d * static_cast<float>(nibble(j)) + 3.25f);
    }
  }
  std::string f32;
  for (const float x : expected_plain) f32 += raw(x);
  GgufBuilder builder;
  builder.tensor("f32", {32, 2}, kF32, f32).tensor("f16", {64}, kF16, f16).tensor("bf16", {2, 32}, kBf16, bf16);
  builder.tensor("q8_0", {32, 2}, kQ8_0, q8).tensor("q4_0", {64}, kQ4_0, q4_0).tensor("q4_1", {32, 1, 2}, kQ4_1, q4_1);
  const std::string file = builder.build();
  const GgufContent content = parse(file);
  const std::vector<float> expected[] = {expected_plain, expected_plain, expected_plain, expected_q8, expected_q4_0, expected_q4_1};
  for (std::size_t i = 0; i < content.tensors.size(); ++i) EXPECT_EQ(decoded(content.tensors[i]), expected[i]) << content.tensors[i].name;
}

TEST(Gguf, DecodesNoBlockToNoValue) {
  for (const std::uint32_t id : {kF32, kF16, kBf16, kQ8_0, kQ4_0, kQ4_1}) EXPECT_NO_THROW(decode_ggml(*find_ggml_type(id), {}, {})) << id;
}

TEST(Gguf, KnowsTheSizesOfTypesItDoesNotDecode) {
  GgufBuilder builder;
  builder.tensor("k", {256, 2}, kIq2Xxs, std::string(132, '\0'));
  const std::string file = builder.build();
  const GgufContent content = parse(file);
  EXPECT_EQ(content.tensors[0].type->name, "IQ2_XXS");
  EXPECT_EQ(content.tensors[0].bytes.size(), 132u);
  std::vector<float> values(512);
  EXPECT_INTERNAL_ERROR(decode_ggml(*content.tensors[0].type, content.tensors[0].bytes, values), "nothing decodes IQ2_XXS");
  EXPECT_INTERNAL_ERROR(decode_ggml(*find_ggml_type(kQ8_0), std::span(content.tensors[0].bytes).first(34), values),
                        "34 bytes of Q8_0 do not make 512 values");
}

TEST(Gguf, RefusesAnotherFormatOrVersion) {
  EXPECT_USER_ERROR(parse(""), "m.gguf: the magic at byte 0 needs 4 bytes, but the file ends 0 bytes behind it; the file is damaged or not "
                               "GGUF; fetch or write it again");
  EXPECT_USER_ERROR(parse("GGML\3\0\0\0"), "m.gguf: the file does not begin with \"GGUF\"");
  EXPECT_USER_ERROR(parse(std::string("GGUF\3\0", 6)), "the version at byte 4 needs 4 bytes");
  GgufBuilder builder;
  builder.version = 1;
  EXPECT_USER_ERROR(parse(builder.build()), "GGUF version 1 is too old; convert the model again; versions 2 and 3 are read");
  builder.version = 0;
  EXPECT_USER_ERROR(parse(builder.build()), "GGUF version 0 is too old");
  builder.version = 4;
  EXPECT_USER_ERROR(parse(builder.build()), "GGUF version 4 is newer than this reprise reads; use a newer reprise");
  builder.version = 0x03000000;
  EXPECT_USER_ERROR(parse(builder.build()), "the file is big-endian; only little-endian files are supported");
}

TEST(Gguf, RefusesBadMetadata) {
  const auto with = [](std::uint32_t type, const std::string& bytes) {
    GgufBuilder builder;
    return parse(builder.value("k", type, bytes).build());
  };
  EXPECT_USER_ERROR(with(13, ""), "the type of metadata value \"k\" at byte 33 is not a type: 13");
  EXPECT_USER_ERROR(with(7, "\2"), "metadata value \"k\" is neither false (0) nor true (1): 2");
  EXPECT_USER_ERROR(with(8, raw(std::uint64_t{1} << 63)),
                    "metadata value \"k\" at byte 45 needs 9223372036854775808 bytes, but the file ends");
  EXPECT_USER_ERROR(with(9, raw(std::uint32_t{4}) + raw(std::uint64_t{1} << 62)),
                    "metadata value \"k\" at byte 49 needs 18446744073709551615 bytes");
  EXPECT_USER_ERROR(with(9, raw(std::uint32_t{99}) + raw(std::uint64_t{0})),
                    "the item type of metadata value \"k\" at byte 37 is not a type: 99");
  EXPECT_USER_ERROR(with(9, raw(std::uint32_t{8}) + raw(std::uint64_t{1} << 60) + raw_string("a")),
                    "the length of metadata value \"k\" at byte");
  EXPECT_USER_ERROR(with(9, raw(std::uint32_t{7}) + raw(std::uint64_t{1}) + "\3"), "is neither false (0) nor true (1): 3");
  std::string deep;
  for (int i = 0; i < 5; ++i) deep += raw(std::uint32_t{9}) + raw(std::uint64_t{1});
  EXPECT_USER_ERROR(with(9, deep), "holds arrays deeper than 4");
  GgufBuilder twice;
  twice.value("key", std::uint32_t{1}).value("other", std::uint32_t{1}).value("key", 2.0f);
  EXPECT_USER_ERROR(parse(twice.build()), "metadata key \"key\" stands twice");
  GgufBuilder cut;
  const std::string file = cut.value("key", std::uint32_t{1}).build();
  EXPECT_USER_ERROR(parse(file.substr(0, 26)),
                    "the length of metadata key 0 at byte 24 needs 8 bytes, but the file ends 2 bytes behind it");
  EXPECT_USER_ERROR(parse(file.substr(0, 33)), "metadata key 0 at byte 32 needs 3 bytes, but the file ends 1 bytes behind it");
}

TEST(Gguf, RefusesBadTensors) {
  const auto with = [](const std::vector<std::uint64_t>& extents, std::uint32_t type, std::uint64_t offset, std::size_t data) {
    GgufBuilder builder;
    builder.tensor_at("w", extents, type, offset);
    return parse(builder.build() + std::string(data, 'x'));
  };
  EXPECT_NO_THROW(with({2}, kF32, 0, 8));
  EXPECT_USER_ERROR(with({1, 1, 1, 1, 1}, kF32, 0, 8), "tensor \"w\" has 5 dimensions, more than 4");
  EXPECT_USER_ERROR(with({std::uint64_t{1} << 63}, kF32, 0, 8), "tensor \"w\" has an extent that 63 bits do not hold: 9223372036854775808");
  EXPECT_USER_ERROR(with({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, kF32, 0, 8),
                    "tensor \"w\": shape [4294967296, 4294967296] of F32 has more elements or bytes than 63 bits count");
  EXPECT_USER_ERROR(with({std::uint64_t{1} << 62}, kF32, 0, 8), "has more elements or bytes");
  EXPECT_NO_THROW(with({std::uint64_t{1} << 32, std::uint64_t{1} << 32, 0}, kF32, 0, 8));
  EXPECT_USER_ERROR(
      with({2}, 200, 0, 8),
      "tensor \"w\" has a type of an unknown number: 200; the file is damaged or its type too new; convert the model to F16 or Q8_0");
  EXPECT_USER_ERROR(with({48}, kQ8_0, 0, 80), "tensor \"w\": rows of 48 elements are not whole blocks of 32 Q8_0");
  EXPECT_USER_ERROR(with({}, kQ4_0, 0, 80), "rows of 1 elements are not whole blocks of 32 Q4_0");
  EXPECT_USER_ERROR(with({2}, kF32, 4, 12), "tensor \"w\": offset 4 is not a multiple of the alignment 32");
  EXPECT_USER_ERROR(with({2}, kF32, 0, 7), "tensor \"w\": 8 bytes at offset 0 reach past the 7 bytes of data in the file");
  EXPECT_USER_ERROR(with({2}, kF32, 32, 8), "8 bytes at offset 32 reach past the 8 bytes");
  EXPECT_USER_ERROR(with({2}, kF32, ~std::uint64_t{31}, 8), "8 bytes at offset 18446744073709551584 reach past the 8 bytes");
  GgufBuilder twice;
  twice.tensor("w", {2}, kF32, "abcdefgh").tensor("w", {2}, kF32, "abcdefgh");
  EXPECT_USER_ERROR(parse(twice.build()), "tensor \"w\" stands twice");
  GgufBuilder overlap;
  overlap.tensor("a", {16}, kF32, std::string(64, 'a')).tensor_at("b", {4}, kF32, 32);
  EXPECT_USER_ERROR(parse(overlap.build()), "tensors \"a\" (bytes 96 to 160) and \"b\" (from byte 128) overlap");
  GgufBuilder same;
  same.tensor("a", {1}, kF32, "abcd").tensor_at("b", {1}, kF32, 0);
  EXPECT_USER_ERROR(parse(same.build()), "overlap");
  GgufBuilder many;
  std::string file = many.build();
  file.replace(8, 8, raw(std::uint64_t{1} << 60));
  EXPECT_USER_ERROR(parse(file), "the number of dimensions of tensor \"\" at byte 32 needs 4 bytes");
}

TEST(Gguf, RefusesABadAlignment) {
  GgufBuilder wrong;
  wrong.value("general.alignment", std::uint32_t{12});
  EXPECT_USER_ERROR(parse(wrong.build()), "general.alignment is not a multiple of 8: 12");
  GgufBuilder zero;
  zero.value("general.alignment", std::uint32_t{0});
  EXPECT_USER_ERROR(parse(zero.build()), "general.alignment is not a multiple of 8: 0");
  GgufBuilder kind;
  kind.value("general.alignment", "32");
  EXPECT_USER_ERROR(parse(kind.build()), "general.alignment is not a uint32");
}

TEST(GgufFuzz, ReplaysACorpusAndItsMutations) {
  GgufBuilder small;
  small.value("general.alignment", std::uint32_t{32}).value("t", std::vector<std::string>{"a", "bc"}).value("f", 1.5f);
  small.value("nested", 9,
              raw(std::uint32_t{9}) + raw(std::uint64_t{1}) + raw(std::uint32_t{7}) + raw(std::uint64_t{2}) + std::string("\1\0", 2));
  small.tensor("w", {2, 2}, kF32, "abcdefghijklmnop")
      .tensor("q", {32, 2}, kQ8_0, std::string(68, 'q'))
      .tensor("r", {32}, kQ4_1, std::string(20, 'r'));
  GgufBuilder version_2;
  version_2.version = 2;
  version_2.tensor("h", {3}, kF16, "abcdef").tensor("b", {3}, kBf16, "abcdef").tensor("z", {32}, kQ4_0, std::string(18, 'z'));
  const std::vector<std::string> corpus{"", "GGUF", GgufBuilder().build(), small.build(), version_2.build(), std::string(64, '\xFF')};
  const auto change = [](std::string& input, std::size_t at, std::mt19937& random) {
    switch (random() % 5) {
      case 0: input[at] = static_cast<char>(random()); break;
      case 1: input[at] = static_cast<char>(input[at] ^ (1 << random() % 8)); break;
      case 2: input.erase(at, random() % 9); break;
      case 3: input.insert(at, raw(std::uint64_t{1} << random() % 64)); break;
      default: input.resize(at); break;
    }
  };
  test::replay_mutated(corpus, 12, change, fuzz_gguf);
}

}  // namespace
}  // namespace reprise
