// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "io/directory.h"
#include "io/write_fault.h"
#include "support/expect_error.h"
#include "support/mutated_corpus.h"
#include "support/source_directory.h"
#include "support/temporary_directory.h"

extern "C" int fuzz_safetensors(const std::uint8_t* data, std::size_t size);

namespace reprise {
namespace {

/// Assembles a file from its parts, independently of the writer.
std::string raw_file(std::string header, std::string_view data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  return length + header + std::string(data);
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::vector<SafetensorsTensor> parse(std::string_view file) {
  SafetensorsMetadata metadata;
  return parse_safetensors(bytes_of(file), "w.safetensors", metadata);
}

std::string text_of(const SafetensorsTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

TEST(Safetensors, ReadsAFileAssembledByHand) {
  const test::TemporaryDirectory folder;
  test::put_file(folder / "a", raw_file(R"({"__metadata__":{"format":"pt"},)"
                                        R"("late":{"dtype":"I64","shape":[],"data_offsets":[8,16]},)"
                                        R"("early":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                                        R"("none":{"dtype":"BF16","shape":[3,0],"data_offsets":[8,8]},)"
                                        R"("flag":{"dtype":"U8","shape":[1],"data_offsets":[16,17]}}  )",
                                        "abcdefghABCDEFGH\x01"));
  const SafetensorsFile file = SafetensorsFile::open(folder / "a");
  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.tensors()[0].name, "early");
  EXPECT_EQ(file.tensors()[1].name, "none");
  EXPECT_EQ(file.tensors()[2].name, "late");
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "pt"}}));
  EXPECT_EQ(text_of(*file.find("early")), "abcdefgh");
  EXPECT_EQ(file.find("early")->shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(file.find("early")->dtype, DType::float32);
  EXPECT_EQ(text_of(*file.find("late")), "ABCDEFGH");
  EXPECT_TRUE(file.find("late")->shape.empty());
  EXPECT_EQ(file.find("none")->bytes.size(), 0u);
  EXPECT_EQ(file.find("flag")->dtype, DType::boolean);
  EXPECT_EQ(file.find("missing"), nullptr);
  file.release(*file.find("early"));
  EXPECT_EQ(text_of(*file.find("early")), "abcdefgh");
}

TEST(Safetensors, EmptyHeaderIsAFileWithoutTensors) { EXPECT_TRUE(parse(raw_file("{}", "")).empty()); }

std::string one(std::string_view entry, std::string_view data) { return raw_file("{\"w\":" + std::string(entry) + "}", data); }

TEST(Safetensors, RefusesBadHeaderLengths) {
  EXPECT_USER_ERROR(parse(""), "w.safetensors: the file has 0 bytes, fewer than the 8 of the header length; the file is damaged");
  EXPECT_USER_ERROR(parse("1234567"), "the file has 7 bytes");
  EXPECT_USER_ERROR(parse(std::string(8, '\0')), "the header length is 0");
  EXPECT_USER_ERROR(parse(std::string("\x20\0\0\0\0\0\0\0{}", 10)), "the header length is 32 bytes, but only 2 follow it");
  EXPECT_USER_ERROR(parse(std::string(8, '\xFF') + "{}"), "the header length is 18446744073709551615 bytes, above the limit of 100000000");
}

TEST(Safetensors, RefusesBadHeaders) {
  EXPECT_USER_ERROR(parse(raw_file("{\"w\"", "")), "w.safetensors: header:1:5: not valid JSON");
  EXPECT_USER_ERROR(parse(raw_file("[]", "")), "the header is not a JSON object but of kind array");
  EXPECT_USER_ERROR(parse(raw_file(R"({"a":1,"a":2})", "")), "key \"a\" stands twice");
  EXPECT_USER_ERROR(parse(raw_file(R"({"__metadata__":3})", "")), "__metadata__ is not a JSON object");
  EXPECT_USER_ERROR(parse(raw_file(R"({"__metadata__":{"a":3}})", "")), "__metadata__ entry \"a\" is not a string");
}

TEST(Safetensors, RefusesBadEntries) {
  EXPECT_USER_ERROR(parse(one("3", "")), "w.safetensors: tensor \"w\": the header entry is not a JSON object");
  EXPECT_USER_ERROR(parse(one(R"({"shape":[1],"data_offsets":[0,4]})", "abcd")), "tensor \"w\": the header entry has no \"dtype\"");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","data_offsets":[0,4]})", "abcd")), "has no \"shape\"");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","shape":[1]})", "abcd")), "has no \"data_offsets\"");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})", "abcd")), "unknown key \"x\"");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":1,"shape":[1],"data_offsets":[0,4]})", "abcd")), "dtype is not a string");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]})", "a")),
                    "tensor \"w\": dtype \"F8_E4M3\" is not supported; convert the tensor to one of F32 F64 F16 BF16 I32 I64 BOOL U8");
  for (const char* shape : {"-1", "[-1]", "[1.5]", "[\"1\"]", "[9223372036854775808]"}) {
    EXPECT_USER_ERROR(parse(one(std::string(R"({"dtype":"F32","shape":)") + shape + R"(,"data_offsets":[0,4]})", "abcd")),
                      "shape is not a list of non-negative integers");
  }
  for (const char* offsets : {"4", "[0]", "[0,4,4]", "[-4,0]", "[0,4.0]"}) {
    EXPECT_USER_ERROR(parse(one(std::string(R"({"dtype":"F32","shape":[1],"data_offsets":)") + offsets + "}", "abcd")),
                      "data_offsets is not a pair of non-negative integers");
  }
}

TEST(Safetensors, RefusesBadRanges) {
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", "abcd")), "data_offsets [4, 0] end before they begin");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", "abcd")),
                    "data_offsets [0, 8] reach past the 4 bytes of data in the file");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","shape":[2, 3],"data_offsets":[0,4]})", "abcd")),
                    "data_offsets [0, 4] hold 4 bytes, but shape [2, 3] of float32 needs 24");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,4]})", "abcd")),
                    "shape [4294967296, 4294967296] of float64 has more bytes than 64 bits count");
  EXPECT_NO_THROW(parse(one(R"({"dtype":"F64","shape":[4294967296,4294967296,0],"data_offsets":[0,0]})", "")));
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "abcdefg")), "3 bytes follow the last tensor");
  EXPECT_USER_ERROR(parse(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", "abcdefgh")), "leave a hole of 4 bytes before them");
}

TEST(Safetensors, RefusesOverlapNamingBoth) {
  EXPECT_USER_ERROR(parse(raw_file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                   R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", "abcdefghijkl")),
                    "tensor \"b\": data_offsets [4, 12] overlap those of tensor \"a\", [0, 8]");
  EXPECT_USER_ERROR(parse(raw_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                   R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcd")), "overlap");
}

TEST(SafetensorsWriter, WritesTheDocumentedBytes) {
  const test::TemporaryDirectory folder;
  SafetensorsWriter writer(folder / "a", {{"b", DType::bfloat16, {2}}, {"none", DType::int32, {0, 4}}, {"a", DType::int64, {}}},
                           {{"format", "pt"}});
  writer.write_tensor("b", bytes_of("wxyz"));
  writer.write_tensor("none", {});
  writer.write(bytes_of("ABCDE"));
  writer.write(bytes_of("FGH"));
  writer.finish();
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                             R"("none":{"dtype":"I32","shape":[0,4],"data_offsets":[4,4]},)"
                             R"("a":{"dtype":"I64","shape":[],"data_offsets":[4,12]}})";
  std::string padded = header;
  while (padded.size() % 8 != 0) padded += ' ';
  EXPECT_EQ(test::get_file(folder / "a"), raw_file(padded, "wxyzABCDEFGH"));
}

TEST(SafetensorsWriter, EveryDtypeComesBack) {
  const test::TemporaryDirectory folder;
  std::vector<SafetensorsPlan> plan;
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int32, DType::int64, DType::boolean}) {
    plan.push_back({std::string(dtype_name(dtype)), dtype, {3}});
  }
  SafetensorsWriter writer(folder / "a", plan);
  for (const SafetensorsPlan& tensor : plan) writer.write(bytes_of(std::string(3 * dtype_size(tensor.dtype), '\x01')));
  writer.finish();
  const SafetensorsFile file = SafetensorsFile::open(folder / "a");
  ASSERT_EQ(file.tensors().size(), plan.size());
  for (const SafetensorsPlan& tensor : plan) EXPECT_EQ(file.find(tensor.name)->dtype, tensor.dtype) << tensor.name;
}

TEST(SafetensorsWriter, IsAtomicOnAFullDisk) {
  const test::TemporaryDirectory folder;
  const std::string weights(1 << 20, 'w');
  for (const std::uint64_t room : {0u, 500'000u}) {
    const ScopedWriteFault fault(fail_after_bytes(room, ENOSPC));
    const auto save = [&] {
      SafetensorsWriter writer(folder / "a", {{"w", DType::boolean, {1 << 20}}});
      writer.write(bytes_of(weights));
      writer.finish();
    };
    EXPECT_USER_ERROR(save(), "a: no space left on device; free space and run again");
  }
  EXPECT_TRUE(list_directory(folder.path()).empty());
}

TEST(SafetensorsWriter, WrongUseIsABug) {
  const test::TemporaryDirectory folder;
  const std::vector<SafetensorsPlan> plan{{"a", DType::int32, {1}}, {"b", DType::int32, {1}}};
  SafetensorsWriter writer(folder / "a", plan);
  EXPECT_INTERNAL_ERROR(writer.write_tensor("b", bytes_of("abcd")), "tensor b of 4 bytes is not the next one");
  EXPECT_INTERNAL_ERROR(writer.write(bytes_of("abcdefgh")), "tensor a has 4 bytes left, not 8");
  EXPECT_INTERNAL_ERROR(writer.finish(), "finished before tensor a is complete");
  writer.write(bytes_of("abcd"));
  writer.write(bytes_of("abcd"));
  EXPECT_INTERNAL_ERROR(writer.write(bytes_of("a")), "bytes after the last tensor");
  EXPECT_INTERNAL_ERROR(SafetensorsWriter(folder / "b", {plan[0], plan[0]}), "stands twice in the plan");
}

/// Takes an empty `__metadata__`, which reprise never writes, out of a file.
std::string without_empty_metadata(std::string file) {
  const std::string_view empty = "\"__metadata__\":{},";
  if (file.compare(9, empty.size(), empty) != 0) return file;
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  std::string header = file.substr(8, length);
  header.erase(1, empty.size());
  header.erase(header.find_last_not_of(' ') + 1);
  header.append((8 - header.size() % 8) % 8, ' ');
  return raw_file(header, std::string_view(file).substr(8 + length));
}

/// Files written by the format's own library: reading and writing them again must give the same bytes.
TEST(SafetensorsWriter, AgreesWithTheReferenceLibraryByteForByte) {
  const char* variable = std::getenv("REPRISE_REFERENCE_DIR");
  const std::filesystem::path reference = variable != nullptr ? std::filesystem::path(variable)
                                                              : test::source_directory() / "../shared/data/reference";
  if (!std::filesystem::is_directory(reference)) GTEST_SKIP() << "no reference data at " << reference;
  const test::TemporaryDirectory folder;
  int compared = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(reference)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file = SafetensorsFile::open(entry.path());
    const std::string expected = without_empty_metadata(test::get_file(entry.path()));
    if (expected.find("\"dtype\":\"U8\"") != std::string::npos) continue;  // bool is written as BOOL
    std::vector<SafetensorsPlan> plan;
    for (const SafetensorsTensor& tensor : file.tensors()) plan.push_back({tensor.name, tensor.dtype, tensor.shape});
    SafetensorsWriter writer(folder / "copy", plan, file.metadata());
    for (const SafetensorsTensor& tensor : file.tensors()) writer.write(tensor.bytes);
    writer.finish();
    EXPECT_TRUE(test::get_file(folder / "copy") == expected) << entry.path();
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(SafetensorsFuzz, ReplaysACorpusAndItsMutations) {
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}})";
  const std::vector<std::string> corpus{"", "{}", raw_file("{}", ""), raw_file(header, "abcdefghijkl"),
                                        one(R"({"dtype":"U8","shape":[3],"data_offsets":[0,3]})", "abc"),
                                        raw_file(std::string(5000, '['), ""), std::string(64, '\xFF')};
  const auto change = [](std::string& input, std::size_t at, std::mt19937& random) {
    switch (random() % 4) {
      case 0: input[at] = static_cast<char>(random()); break;
      case 1: input.erase(at, random() % 9); break;
      case 2: input.insert(at, 1, "0123456789[]{}\",:-e."[random() % 20]); break;
      default: input.resize(at); break;
    }
  };
  test::replay_mutated(corpus, 11, change, fuzz_safetensors);
}

}  // namespace
}  // namespace reprise
