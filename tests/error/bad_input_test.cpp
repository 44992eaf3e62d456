// SPDX-License-Identifier: Apache-2.0
// Bad input to the program: every message names what is wrong and what to do, on one line, with exit status 2, and leaves no
// half-made run behind.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "io/json.h"
#include "support/run_program.h"
#include "support/sample_text.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

class BadInput : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory;
    put_file(*folder_ / "text.txt", sample_text(300));
    const ProgramResult trained = reprise_run(train_words("good", {"--max_steps", "1"}));
    ASSERT_EQ(trained.status, 0) << trained.err;
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string path(const std::string& name) { return *folder_ / name; }

  /// A run of one step in `out`, quick where nothing goes wrong.
  static std::vector<std::string> train_words(const std::string& out, std::vector<std::string> more = {},
                                              const std::string& text = "text.txt") {
    std::vector<std::string> words{"train",   "--data",    path(text), "--out",          path(out), "--model",
                                   "toy-gpt", "--threads", "1",        "--eval_batches", "1"};
    if (std::find(more.begin(), more.end(), "--micro_batch_size") == more.end()) words.insert(words.end(), {"--micro_batch_size", "2"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static void expect_train_refusal(std::vector<std::string> more, const std::string& phrase, const std::string& text = "text.txt") {
    expect_refusal(train_words("bad", std::move(more), text), phrase);
    EXPECT_FALSE(fs::exists(path("bad"))) << "a refused run is left behind";
  }

  static TemporaryDirectory* folder_;
};

TemporaryDirectory* BadInput::folder_ = nullptr;

// ---- text ------------------------------------------------------------------------------------------------------

TEST_F(BadInput, TextIsMissing) { expect_train_refusal({}, "no such file", "none.txt"); }

TEST_F(BadInput, TextIsEmpty) {
  put_file(path("empty.txt"), "");
  expect_train_refusal({}, "is empty: give a file with text", "empty.txt");
}

TEST_F(BadInput, TextIsBinary) {
  put_file(path("binary.txt"), std::string("some\0bytes", 10));
  expect_train_refusal({}, "is not text: give plain UTF-8 text; it holds a zero byte, at offset 4", "binary.txt");
}

TEST_F(BadInput, TextIsOfAnotherEncoding) {
  std::string latin(400, 'a');
  for (std::size_t i = 0; i < latin.size(); i += 4) latin[i] = '\xe9';
  put_file(path("latin.txt"), latin);
  expect_train_refusal({}, "is not UTF-8 text: convert it", "latin.txt");
}

TEST_F(BadInput, TextIsShorterThanABlock) {
  put_file(path("short.txt"), "a few words");
  expect_train_refusal({"--val_data", "0"}, "the training text is shorter than a block: 11 tokens, and a block of 64 needs 65",
                       "short.txt");
}

TEST_F(BadInput, ShardIsCutShort) {
  fs::copy(path("good"), path("cut"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (const auto& entry : fs::directory_iterator(path("cut/data"))) {
    if (entry.path().filename().string().starts_with("train-")) fs::resize_file(entry.path(), fs::file_size(entry.path()) - 10);
  }
  expect_refusal({"train", "--resume", path("cut"), "--max_steps", "2"}, "is cut short");
}

// ---- the model -------------------------------------------------------------------------------------------------

TEST_F(BadInput, ModelIsUnknown) {
  expect_train_refusal({"--n_layers", "1", "--config", path("model.toml")}, "no such file");
  expect_refusal({"models", "pythia-160n"}, "did you mean \"pythia-160m\"");
  expect_refusal({"train", "--data", path("text.txt"), "--out", path("bad"), "toy-gtp"}, "did you mean \"toy-gpt\"");
  expect_refusal({"generate", path("nowhere")}, "there is no such folder; give a run or a model folder");
}

TEST_F(BadInput, BlockIsOverTheModels) {
  expect_train_refusal({"--block_size", "65"}, "block_size is over what toy-gpt can take; give at most 64, not 65");
}

TEST_F(BadInput, VocabularyIsLargerThanTheModels) {
  expect_train_refusal({"--init_from", path("good/model"), "--tokenizer", "bpe:300"}, "the tokenizer's vocabulary is larger than");
}

TEST_F(BadInput, PromptHasACharacterTheModelDoesNotKnow) {
  expect_refusal({"generate", path("good"), "--prompt", "Ω", "--quiet"}, "U+03A9");
}

// ---- weights ---------------------------------------------------------------------------------------------------

std::uint64_t header_length(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return length;
}

class BadWeights : public BadInput {
 protected:
  /// A copy of the good model whose weights went through `damage`.
  static void expect_weights_refusal(const std::function<void(std::string&)>& damage, const std::string& phrase) {
    fs::remove_all(path("damaged"));
    fs::copy(path("good/model"), path("damaged"), fs::copy_options::recursive);
    std::string file = get_file(path("damaged/model.safetensors"));
    damage(file);
    put_file(path("damaged/model.safetensors"), file);
    expect_train_refusal({"--init_from", path("damaged"), "--max_steps", "1"}, phrase);
  }

  static void expect_header_refusal(const std::function<void(Json&)>& damage, const std::string& phrase) {
    expect_weights_refusal(
        [&](std::string& file) {
          const std::uint64_t length = header_length(file);
          Json header = parse_json(std::string_view(file).substr(8, length), "header");
          damage(header);
          const std::string text = write_json(header, kCompact);
          const std::uint64_t new_length = text.size();
          std::string changed(sizeof new_length, '\0');
          std::memcpy(changed.data(), &new_length, sizeof new_length);
          file = changed + text + file.substr(8 + length);
        },
        phrase);
  }

  /// Member `key` of the header's entry for a tensor whose name ends in `tensor`.
  static Json& entry(Json& header, std::string_view tensor, std::string_view key) {
    for (JsonMember& member : header.members()) {
      if (!member.key.ends_with(tensor)) continue;
      for (JsonMember& field : member.value.members()) {
        if (field.key == key) return field.value;
      }
    }
    throw std::runtime_error("no such tensor: " + std::string(tensor));
  }
};

TEST_F(BadWeights, HeaderLengthIsWrong) {
  expect_weights_refusal([](std::string& file) { file[7] = '\x7f'; }, "the header length is");
  expect_weights_refusal([](std::string& file) { file.resize(100); }, "the header length is");
}

TEST_F(BadWeights, FileIsCutShort) {
  expect_weights_refusal([](std::string& file) { file.resize(file.size() - 4); }, "bytes of data in the file");
}

TEST_F(BadWeights, TensorsOverlap) {
  expect_header_refusal(
      [](Json& header) { entry(header, "h.0.ln_1.bias", "data_offsets") = entry(header, "h.0.ln_1.weight", "data_offsets"); },
      "overlap those of tensor");
}

TEST_F(BadWeights, DtypeIsWrong) {
  expect_header_refusal([](Json& header) { entry(header, "wte.weight", "dtype") = "I32"; }, "wrong dtype of");
}

TEST_F(BadWeights, ShapeIsWrong) {
  expect_header_refusal(
      [](Json& header) {
        Json& shape = entry(header, "wte.weight", "shape");
        std::swap(shape.items()[0], shape.items()[1]);
      },
      "wrong shape of");
}

TEST_F(BadWeights, ValueIsNotFinite) {
  expect_weights_refusal(
      [](std::string& file) {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        std::memcpy(file.data() + 8 + header_length(file) + 400, &nan, sizeof nan);
      },
      "the weights hold a value that is not finite");
}

// ---- options ---------------------------------------------------------------------------------------------------

TEST_F(BadInput, OptionIsUnknown) {
  expect_train_refusal({"--max_step", "4"}, "unknown option --max_step; did you mean --max_steps?");
  expect_refusal({"trian"}, "did you mean \"train\"?");
}

TEST_F(BadInput, KeyIsUnknown) {
  put_file(path("bad.toml"), "max_steps = 3\nlearning_rte = 0.1\n");
  expect_train_refusal({"--config", path("bad.toml")}, "bad.toml:2: unknown key \"learning_rte\"; did you mean \"learning_rate\"?");
}

TEST_F(BadInput, CompilerIsAnotherProjects) {
  expect_refusal({"bench", "toy-gpt", "--compile", "inductor"}, "\"inductor\" is not available; choose reprise, eager");
}

TEST_F(BadInput, ExecutorsCannotRunTheModel) {
  expect_refusal({"trace", "toy-gpt", "--executors", "onednn", "--stage", "claimed"}, "onednn");
}

// ---- runs ------------------------------------------------------------------------------------------------------

TEST_F(BadInput, RunExists) {
  expect_refusal(train_words("good"), "the run exists; continue it with --resume");
  fs::create_directories(path("other"));
  put_file(path("other/notes.txt"), "mine");
  expect_refusal(train_words("other", {"--overwrite"}), "no run of reprise, so it is left alone");
  EXPECT_EQ(get_file(path("other/notes.txt")), "mine");
}

TEST_F(BadInput, ResumedRunChangesWhatItMayNot) {
  expect_refusal({"train", "--resume", path("good"), "--learning_rate", "0.5", "--seed", "4"},
                 "a resumed run may not change learning_rate, seed");
  expect_refusal({"train", "--resume", path("nowhere")}, "no such file");
}

TEST_F(BadInput, CheckpointHasANegativeStep) {
  fs::copy(path("good"), path("negative"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  put_file(path("negative/step-1/state.json"), R"({"format_version": 1, "step": -1, "tokens": 0, "validation_loss": null})");
  expect_refusal({"train", "--resume", path("negative"), "--max_steps", "2"}, "step and tokens cannot be negative");
}

TEST_F(BadInput, SizesAreTooLargeForAnyMemory) {
  expect_train_refusal({"--micro_batch_size", "10000000000"}, "is out of range; give at least 1 and at most 100000000");
  expect_train_refusal({"--micro_batch_size", "100000000", "--quiet"}, "this fits: the same command with --micro_batch_size ");
  const std::vector<std::string> wide{"bench", "pythia-160m", "--n_layers", "1", "--micro_batch_size", "100000000"};
  expect_refusal(wide, "is too large for any memory; give smaller sizes");
  expect_refusal(wide, "; this fits: reprise bench pythia-160m --n_layers 1 ");
  expect_refusal({"bench", "Llama-2-7b-hf", "--n_layers", "1000000000"}, "is out of range; give at least 1 and at most 10000");
  put_file(path("huge.txt"), "reprise trace 1\ntrace huge {\n  input float32[4611686018427387904, 4] %x param\n}\n");
  expect_refusal({"run-trace", path("huge.txt")}, "a tensor this large cannot be addressed");
}

TEST_F(BadInput, StepsAndTokensWithoutEndAreLegal) {
  for (const char* end : {"--max_steps=1000000000000000", "--max_tokens=1000000000000000", "--epochs=1000000"}) {
    const ProgramResult result = reprise_run(train_words("long", {end, "--max_time", "0.001s", "--quiet", "--overwrite"}));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("after 1 steps"), std::string::npos) << result.out;
  }
}

TEST_F(BadInput, NamesMustReadBackFromTheRun) {
  expect_refusal(train_words("bad\xff"), "could not be read back from config.toml; give names of valid UTF-8");
  EXPECT_FALSE(fs::exists(path("bad\xff")));
  // Blanks, quotes and line breaks are no trouble.
  const std::string odd = "a 'b' \"c\"\n\\d";
  ASSERT_EQ(reprise_run(train_words(odd, {"--max_steps", "1"})).status, 0);
  const ProgramResult resumed = reprise_run({"train", "--resume", path(odd), "--max_steps", "2"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
}

TEST_F(BadInput, RefusedRunLeavesTheOneItWasToReplace) {
  fs::copy(path("good"), path("old"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  expect_refusal(train_words("old", {"--overwrite", "--micro_batch_size", "50000000", "--quiet"}), "not enough memory for training");
  expect_refusal(train_words("old", {"--overwrite", "--tokenizer", "bpe:100000"}), "too small to learn");
  for (const char* name : {"config.toml", "latest/state.json", "model/model.safetensors", "metrics.jsonl"}) {
    EXPECT_TRUE(get_file(path("old/" + std::string(name))) == get_file(path("good/" + std::string(name)))) << name;
  }
  EXPECT_FALSE(fs::exists(path("old/.replaced")));
  EXPECT_EQ(reprise_run(train_words("old", {"--overwrite", "--max_steps", "2"})).status, 0);
  EXPECT_FALSE(fs::exists(path("old/.replaced")));
  EXPECT_FALSE(fs::exists(path("old/step-1")));
}

TEST_F(BadInput, ReplacedRunIsNotReadFrom) {
  fs::copy(path("good"), path("source"), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const std::string inside = " lies in the run that overwrite replaces; copy it to another place, or give another --out: ";
  const auto refuse = [&](const std::string& option, const std::string& file, const std::string& prefix = "") {
    expect_refusal(train_words("source", {"--overwrite", "--" + option, prefix + path("source/" + file)}),
                   option + inside + path("source/" + file));
  };
  refuse("recompute", "recompute_plan.txt", "file:");
  refuse("init_from", "model");
  refuse("tokenizer", "model/tokenizer.json");
  refuse("val_data", "log.txt");
  expect_refusal({"train", "--data", path("source/log.txt"), "--out", path("source"), "--overwrite"}, "data" + inside);
  EXPECT_TRUE(fs::exists(path("source/latest")));
}

TEST_F(BadInput, NamesOfSeveralLinesAreShownOnOne) {
  expect_refusal({"plan", "toy-gpt", "--recompute", "full\nmore"}, "the recompute policy 'full\\x0amore' is none of");
  expect_refusal({"explain", "toy-gpt", "a\nb"}, "the step has no value %a\\x0ab");
}

TEST_F(BadInput, TwoRunsInOneFolder) {
  std::vector<std::string> words = train_words("busy", {"--max_steps", "1000000", "--log_interval", "1"});
  words.insert(words.begin(), REPRISE_BINARY);
  RunningProgram first(words);
  ASSERT_TRUE(first.wait_for_err("step "));
  expect_refusal({"train", "--resume", path("busy")}, "run directory is in use by process");
}

TEST_F(BadInput, FolderIsReadOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start a process of another user";
  constexpr uid_t kNobody = 65534;
  fs::permissions(folder_->path(),
                  fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec);
  std::vector<std::string> words = train_words("forbidden/run", {"--max_steps", "1"});
  words.insert(words.begin(), REPRISE_BINARY);
  const ProgramResult result = RunningProgram(words, kNobody).wait();
  if (result.status == 125 || result.status == 126 || result.status == 127) {
    GTEST_SKIP() << "the program cannot be run as another user here";
  }
  expect_refusal(result, "permission denied; choose a path you have access to");
}

TEST_F(BadInput, MemoryDoesNotSuffice) {
  expect_refusal({"bench", "pythia-160m", "--micro_batch_size", "65536", "--n_layers", "1", "--block_size", "512", "--quiet"},
                 "bytes); this fits: reprise bench pythia-160m --n_layers 1 --block_size 512 --micro_batch_size ");
  const ProgramResult result = reprise_run(train_words("bad", {"--micro_batch_size", "8388608", "--quiet"}));
  EXPECT_EQ(result.status, 2);
  for (const char* phrase :
       {"not enough memory for training: ", " needed, ", " available ", "this fits: the same command with --micro_batch_size "}) {
    EXPECT_NE(result.err.find(phrase), std::string::npos) << phrase << "\n" << result.err;
  }
}

}  // namespace
}  // namespace reprise::test
