// SPDX-License-Identifier: Apache-2.0
// `reprise eval` as a person runs it, and the data that `train` takes and refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "io/json.h"
#include "support/compress.h"
#include "support/run_program.h"
#include "support/sample_text.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

class Eval : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory;
    put_file(*folder_ / "text.txt", sample_text(300));
    put_file(
        *folder_ / "lines.jsonl.gz",
        gzip_of("{\"text\": \"the first line.\"}\n{\"text\": \"and a second one\"}\n{\"prompt\": \"ask\", \"completion\": \"tell\"}\n"));
    const ProgramResult trained =
        reprise_run({"train", "toy-llama", "--data", at("text.txt"), "--tokenizer", "bpe:300", "--out", at("run"), "--threads", "1",
                     "--max_steps", "6", "--save_interval", "3", "--micro_batch_size", "4", "--quiet"});
    ASSERT_EQ(trained.status, 0) << trained.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string at(const std::string& name) { return *folder_ / name; }
  static ProgramResult eval(std::vector<std::string> more, const std::string& model = "run", const std::string& data = "text.txt") {
    std::vector<std::string> words{"eval", at(model), "--data", at(data), "--threads", "1", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return reprise_run(words);
  }
  static Json figures(std::vector<std::string> more, const std::string& model = "run", const std::string& data = "text.txt") {
    more.insert(more.end(), {"--json", "-"});
    const ProgramResult result = eval(std::move(more), model, data);
    EXPECT_EQ(result.status, 0) << result.err;
    return parse_json(result.out, "eval");
  }

  static TemporaryDirectory* folder_;
};

TemporaryDirectory* Eval::folder_ = nullptr;

TEST_F(Eval, GivesLossPerplexityAndBitsPerByte) {
  const Json json = figures({});
  const double loss = json.find("loss")->number();
  const double tokens = json.find("tokens")->number();
  const double bytes = json.find("bytes")->number();
  EXPECT_GT(loss, 1);
  EXPECT_LT(loss, std::log(300.0) + 0.5);
  EXPECT_DOUBLE_EQ(json.find("perplexity")->number(), std::exp(loss));
  EXPECT_NEAR(json.find("bits_per_byte")->number(), loss * tokens / std::log(2.0) / bytes, 1e-9 * loss);
  EXPECT_EQ(bytes, static_cast<double>(std::filesystem::file_size(at("text.txt"))));
  EXPECT_EQ(json.find("documents")->integer(), 1);
  EXPECT_EQ(json.find("schema_version")->integer(), 1);
  const ProgramResult shown = eval({});
  EXPECT_EQ(shown.status, 0);
  EXPECT_TRUE(shown.out.starts_with("loss ")) << shown.out;
  EXPECT_NE(shown.out.find(" bits per byte "), std::string::npos);
}

TEST_F(Eval, EveryWayToNameTheModelIsTheSameModel) {
  const double loss = figures({}).find("loss")->number();
  EXPECT_EQ(figures({}, "run/model").find("loss")->number(), loss);
  EXPECT_EQ(figures({}, "run/step-6").find("loss")->number(), loss);
  EXPECT_EQ(figures({}, "run/latest").find("loss")->number(), loss);
  EXPECT_NE(figures({}, "run/step-3").find("loss")->number(), loss);
}

TEST_F(Eval, BatchesChangeNothingAndStridesGiveContext) {
  const std::vector<std::string> exact{"--executors", "loops,reference", "--block_size", "16"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), exact.begin(), exact.end());
    return figures(more);
  };
  const Json one = with({"--micro_batch_size", "1"});
  EXPECT_EQ(with({"--micro_batch_size", "7"}).find("loss")->number(), one.find("loss")->number());
  const Json overlapping = with({"--stride", "4"});
  EXPECT_EQ(overlapping.find("tokens")->integer(), one.find("tokens")->integer());
  EXPECT_NE(overlapping.find("loss")->number(), one.find("loss")->number());
}

TEST_F(Eval, WindowsAreNoLongerThanTheDataCanFill) {
  put_file(at("short.txt"), "a few short words");
  const Json own = figures({}, "run", "short.txt");
  EXPECT_EQ(own.find("block_size")->integer(), 32);
  const Json whole = figures({"--block_size", "64"}, "run", "short.txt");
  EXPECT_EQ(whole.find("block_size")->integer(), 64);
  EXPECT_EQ(own.find("tokens")->integer(), whole.find("tokens")->integer());
  EXPECT_NEAR(own.find("loss")->number(), whole.find("loss")->number(), 1e-5);
  EXPECT_EQ(figures({}, "run", "lines.jsonl.gz").find("block_size")->integer(), 64);
}

TEST_F(Eval, DtypesAgree) {
  const double loss = figures({}).find("loss")->number();
  EXPECT_NEAR(figures({"--dtype", "float64"}).find("loss")->number(), loss, 1e-4 * loss);
  EXPECT_NEAR(figures({"--dtype", "bfloat16"}).find("loss")->number(), loss, 0.05 * loss);
}

TEST_F(Eval, ScoresEachDocument) {
  const ProgramResult result = eval({"--per_document", "-", "--json", at("figures.json")}, "run", "lines.jsonl.gz");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json total = read_json(at("figures.json"));
  std::istringstream lines(result.out);
  double sum = 0;
  std::int64_t tokens = 0;
  std::int64_t number = 0;
  const std::int64_t bytes[] = {15, 16, 4};  // of the third, the completion alone
  for (std::string line; std::getline(lines, line); ++number) {
    const Json json = parse_json(line, "line");
    EXPECT_EQ(json.find("document")->integer(), number);
    EXPECT_EQ(json.find("line")->integer(), number + 1);
    EXPECT_EQ(json.find("bytes")->integer(), bytes[number]);
    sum += json.find("loss")->number() * json.find("tokens")->number();
    tokens += json.find("tokens")->integer();
  }
  EXPECT_EQ(number, 3);
  EXPECT_EQ(tokens, total.find("tokens")->integer());
  EXPECT_NEAR(sum, total.find("loss")->number() * static_cast<double>(tokens), 1e-9 * sum);
}

TEST_F(Eval, RefusesWhatItCannotDo) {
  expect_refusal({"eval", at("run")}, "eval needs --data PATH...");
  expect_refusal(eval({}, "nowhere"), "there is no such folder; give a run or a model folder");
  expect_refusal(eval({}, "run", "none.txt"), "no such file");
  expect_refusal(eval({"--block_size", "128"}), "block_size must be at most the model's, 64, not 128");
  expect_refusal(eval({"--block_size", "16", "--stride", "17"}),
                 "stride must be at most block_size, 16, so that no token is left out, not 17");
  expect_refusal(eval({"--json", at("no/such/folder.json")}), "no such file or directory");
  expect_refusal(eval({"--text_field", "body"}, "run", "lines.jsonl.gz"), "lines.jsonl.gz:1: the field \"body\" is missing");
  put_file(at("one.bin"), std::string("\x07\x00", 2));
  expect_refusal(eval({}, "run", "one.bin"), "give --data_format nanogpt");
  put_file(at("far.bin"), std::string("\xFF\xFF", 2));
  expect_refusal(eval({"--data_format", "nanogpt"}, "run", "far.bin"), "far.bin: token 0 is 65535, but the tokenizer has 300 tokens");
}

TEST_F(Eval, BenchmarksDoNotMeasureForAFileThatCannotBeWritten) {
  expect_refusal({"bench", "toy-gpt", "--json", at("no/such/folder.json"), "--max_iters", "1000000000"}, "no such file or directory");
}

TEST_F(Eval, DataWithoutEndIsRefused) {
  const auto shell = [](const std::string& script) { return run_program({"/bin/sh", "-c", script}); };
  const std::string train = std::string(REPRISE_BINARY) + " train toy-gpt --out " + at("endless") + " --data ";
  expect_refusal(shell(train + "/dev/zero"), "/dev/zero is a device, which need not end");
  expect_refusal(shell("cat /dev/zero | " + train + "-"),
                 "standard input is not text: give plain UTF-8 text; it holds a zero byte, at offset 0");
  EXPECT_FALSE(std::filesystem::exists(at("endless")));
}

TEST_F(Eval, TrainTakesFoldersPackedAndResumes) {
  std::filesystem::create_directories(at("data"));
  put_file(at("data/a.txt"), sample_text(100));
  put_file(at("data/b.jsonl.zst"), zstd_of("{\"prompt\": \"the cat\", \"completion\": \" sees a dog\"}\n{\"text\": \"one bird hears\"}\n"));
  put_file(at("data/.hidden"), "x");
  const auto train = [&](const std::string& out, std::vector<std::string> more) {
    std::vector<std::string> words{
        "train", "toy-llama",   "--data",  at("data"),         "--out",       at(out), "--threads", "1", "--micro_batch_size",
        "2",     "--tokenizer", "bpe:280", "--pack_documents", "--max_steps", "6"};
    words.insert(words.end(), more.begin(), more.end());
    return reprise_run(words);
  };
  const ProgramResult whole = train("whole", {});
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_NE(whole.err.find("data    2 files: "), std::string::npos) << whole.err;
  EXPECT_NE(whole.err.find("1 file is left out: " + at("data/.hidden") + " (hidden)"), std::string::npos) << whole.err;
  ASSERT_EQ(train("cut", {"--max_time", "0.001s"}).status, 0);
  for (const auto& entry : std::filesystem::directory_iterator(at("cut/data"))) {
    if (entry.path().extension() == ".tokens") std::filesystem::remove(entry.path());  // built again
  }
  const ProgramResult resumed = reprise_run({"train", "--resume", at("cut"), "--max_time", "1h"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(get_file(at("cut/model/model.safetensors")), get_file(at("whole/model/model.safetensors")));
}

}  // namespace
}  // namespace reprise::test
