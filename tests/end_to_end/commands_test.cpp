// SPDX-License-Identifier: Apache-2.0
// The commands besides train and generate, with the built program.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "io/json.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "support/run_program.h"
#include "support/temporary_directory.h"

namespace reprise::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Commands, PlanComparesPoliciesAndWritesPlans) {
  const TemporaryDirectory folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  const ProgramResult all = reprise_run({"plan", "toy-gpt", "--json", at("plan.json"), "--svg", at("plan.svg")});
  EXPECT_EQ(all.status, 0) << all.err;
  const Json json = read_json(at("plan.json"));
  std::vector<std::string> policies;
  for (const Json& row : json.find("policies")->items()) {
    policies.push_back(row.find("policy")->string());
    std::int64_t parts = 0;
    EXPECT_GT(row.find("predicted_memory_bytes")->integer(), row.find("persistent_bytes")->integer());
    for (const JsonMember& part : row.find("peak")->members()) parts += part.value.integer();
    EXPECT_EQ(parts, row.find("predicted_memory_bytes")->integer());
  }
  EXPECT_EQ(policies, (std::vector<std::string>{"none", "auto", "ops", "alternate", "layers:2", "full"}));
  const std::string svg = get_file(at("plan.svg"));
  EXPECT_TRUE(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("backward and update"), std::string::npos);

  EXPECT_EQ(reprise_run({"plan", "toy-gpt", "--recompute", "full", "--out", at("full.txt")}).status, 0);
  const ProgramResult from_file = reprise_run({"trace", "toy-gpt", "--stage", "recomputed", "--recompute", "file:" + at("full.txt")});
  const ProgramResult full = reprise_run({"trace", "toy-gpt", "--stage", "recomputed", "--recompute", "full"});
  EXPECT_EQ(from_file.out, full.out);
  EXPECT_NE(full.out.find(".r1"), std::string::npos);
  EXPECT_EQ(reprise_run({"trace", "toy-llama", "--recompute", "file:" + at("full.txt"), "--stage", "recomputed"}).status, 2);
  EXPECT_EQ(reprise_run({"plan", "toy-gpt", "--recompute", "ful"}).status, 2);
  EXPECT_TRUE(all.out.starts_with("model toy-gpt: vocabulary 65 (of train: its tokenizer's), tied embeddings\n\npolicy ")) << all.out;

  const std::vector<std::string> step{"pythia-14m", "--n_layers", "1", "--block_size", "16", "--global_batch_size", "2"};
  std::vector<std::string> plan{"plan", "--max_norm", "0", "--recompute", "full", "--out", at("bench.txt")};
  plan.insert(plan.end(), step.begin(), step.end());
  ASSERT_EQ(reprise_run(plan).status, 0);
  std::vector<std::string> bench{"bench", "--max_iters", "2", "--warmup_iters", "1", "--check_recompute",
                                 "--recompute", "file:" + at("bench.txt")};
  bench.insert(bench.end(), step.begin(), step.end());
  const ProgramResult checked = reprise_run(bench);
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_NE(checked.err.find("parameters and states of a step are those of recompute none, bit for bit"), std::string::npos) << checked.err;
}

TEST(Commands, PlanSaysWhatThePeakIsMadeOf) {
  const auto peak_of = [](std::vector<std::string> more, const char* model = "toy-gpt") {
    more.insert(more.begin(), {"plan", model, "--recompute", "none", "--json", "-"});
    return *parse_json(reprise_run(more).out, "plan").find("policies")->items()[0].find("peak");
  };
  const auto bytes = [](const Json& peak, const char* part) {
    const Json* const found = peak.find(part);
    return found == nullptr ? 0 : found->integer();
  };
  const Json plain = peak_of({"--micro_batch_size", "8"});
  EXPECT_EQ(bytes(plain, "moments_bytes"), 2 * bytes(plain, "parameters_bytes"));
  EXPECT_EQ(bytes(plain, "masters_bytes") + bytes(plain, "accumulators_bytes") + bytes(plain, "tables_bytes"), 0);
  const Json accumulating = peak_of({"--global_batch_size", "2"});
  EXPECT_EQ(bytes(accumulating, "accumulators_bytes"), bytes(accumulating, "parameters_bytes"));
  const Json masters = peak_of({"--dtype", "bfloat16", "--master_weights"});
  EXPECT_EQ(bytes(masters, "masters_bytes"), 2 * bytes(masters, "parameters_bytes"));
  EXPECT_EQ(bytes(masters, "moments_bytes"), 4 * bytes(masters, "parameters_bytes"));
  // Clipping holds all gradients until the last is there.
  const Json clipped = peak_of({"--n_layers", "9", "--block_size", "4"});
  const Json unclipped = peak_of({"--n_layers", "9", "--block_size", "4", "--max_norm", "0"});
  EXPECT_GT(bytes(clipped, "gradient_bytes"), bytes(unclipped, "gradient_bytes"));
  // The logits of 512 tokens; their gradient takes their place.
  EXPECT_EQ(bytes(peak_of({"--n_layers", "1", "--max_norm", "0"}, "pythia-14m"), "logits_bytes"), 512 * 50304 * 4);
}

TEST(Commands, PlanWithoutClippingPredictsWhatBenchUses) {
  for (const char* dtype : {"float32", "bfloat16"}) {
    const std::vector<std::string> step{"pythia-14m", "--n_layers", "2", "--block_size", "32", "--dtype", dtype,
                                        "--recompute", "full", "--json", "-"};
    std::vector<std::string> plan{"plan", "--max_norm", "0"};
    plan.insert(plan.begin() + 1, step.begin(), step.end());
    std::vector<std::string> bench{"bench", "--max_iters", "2", "--warmup_iters", "1", "--quiet"};
    bench.insert(bench.begin() + 1, step.begin(), step.end());
    const Json planned = parse_json(reprise_run(plan).out, "plan");
    const Json measured = parse_json(reprise_run(bench).out, "bench");
    const Json& row = planned.find("policies")->items()[0];
    const Json& library = *row.find("peak")->find("library_bytes");
    EXPECT_EQ(row.find("predicted_memory_bytes")->integer(), measured.find("predicted_memory_bytes")->integer()) << dtype;
    EXPECT_EQ(row.find("predicted_memory_bytes")->integer() - library.integer(), measured.find("memory_used_bytes")->integer()) << dtype;
  }
}

TEST(Commands, PlanNamesTheSaveListAndWarns) {
  const TemporaryDirectory folder;
  const ProgramResult dense = reprise_run({"plan", "toy-gpt", "--recompute", "ops"});
  EXPECT_NE(dense.out.find("\nsave list dense: all_reduce, "), std::string::npos) << dense.out;
  const ProgramResult experts =
      reprise_run({"plan", "Mixtral-8x7B-v0.1", "--n_layers", "1", "--block_size", "32", "--recompute", "alternate"});
  EXPECT_NE(experts.out.find("\nsave list experts: "), std::string::npos) << experts.out;
  EXPECT_NE(experts.out.find("scatter_add"), std::string::npos) << experts.out;
  EXPECT_EQ(reprise_run({"plan", "toy-gpt", "--recompute", "full"}).out.find("save list"), std::string::npos);
  const std::string file = folder / "list.txt";
  put_file(file, "linear\nmatmul\nsilu\n");
  const ProgramResult own = reprise_run({"explain", "toy-gpt", "--recompute", "ops:" + file});
  EXPECT_NE(own.out.find("save list " + file + ": linear, matmul, silu\n"), std::string::npos) << own.out;
  EXPECT_NE(own.err.find("names linear, silu, which no block runs"), std::string::npos) << own.err;
  put_file(file, "linear\nmatmull\n");
  expect_refusal({"bench", "toy-gpt", "--recompute", "ops:" + file}, "list.txt:2: no op is called 'matmull'; did you mean \"matmul\"?");
  EXPECT_NE(reprise_run({"plan", "toy-gpt", "--recompute", "layers:9"}).err.find("acts on block0 alone: the model has 2 blocks"),
            std::string::npos);
}

TEST(Commands, ExplainTellsOfThePeakAndOfAValue) {
  const ProgramResult peak = reprise_run({"explain", "toy-gpt", "--recompute", "ops"});
  EXPECT_EQ(peak.status, 0) << peak.err;
  for (const char* part : {"largest values", "by block", "highest elsewhere", "what would change it", "--recompute full", "kept: "}) {
    EXPECT_NE(peak.out.find(part), std::string::npos) << part << "\n" << peak.out;
  }
  const ProgramResult value = reprise_run({"explain", "toy-gpt", "gelu", "--recompute", "full"});
  EXPECT_EQ(value.status, 0) << value.err;
  for (const char* part : {"made by gelu @transformer.h.0.mlp in forward", "in checkpoint region block0", "made again as %gelu.r1",
                           "its storage is in use from node"}) {
    EXPECT_NE(value.out.find(part), std::string::npos) << part << "\n" << value.out;
  }
  expect_refusal({"explain", "toy-gpt", "gelo"}, "did you mean \"gelu");
  EXPECT_NE(reprise_run({"explain", "toy-gpt", "tokens"}).out.find("its storage is in use from the start to node "), std::string::npos);
  const ProgramResult loss = reprise_run({"explain", "toy-gpt", "loss"});
  EXPECT_TRUE(std::regex_search(loss.out, std::regex("its storage is in use from node [0-9]+ to the end\n"))) << loss.out;
}

TEST(Commands, CheckRecomputeComparesBits) {
  const ProgramResult checked = reprise_run(
      {"bench", "toy-gpt", "--recompute", "full", "--check_recompute", "--max_iters", "2", "--warmup_iters", "1", "--block_size", "16"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_NE(checked.err.find("are those of recompute none, bit for bit"), std::string::npos) << checked.err;
}

TEST(Commands, HelpVersionAndCompletion) {
  EXPECT_TRUE(std::regex_match(reprise_run({"--version"}).out, std::regex("reprise [0-9]+\\.[0-9]+\\.[0-9]+\n")));
  const std::string help = reprise_run({"--help"}).out;
  for (const char* command : {"train", "generate", "bench", "trace", "run-trace", "models", "info", "completion"}) {
    EXPECT_NE(help.find(command), std::string::npos) << command;
    const ProgramResult own = reprise_run({command, "--help"});
    EXPECT_EQ(own.status, 0);
    EXPECT_NE(own.out.find("reprise " + std::string(command)), std::string::npos) << own.out;
  }
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_NE(reprise_run({"completion", shell}).out.find("max_steps"), std::string::npos) << shell;
  }
  const ProgramResult config = reprise_run({"train", "--print_config", "--learning_rate", "0.5"});
  EXPECT_NE(config.out.find("learning_rate = 0.5"), std::string::npos) << config.out;
}

TEST(Commands, InfoAsTextAndJson) {
  EXPECT_NE(reprise_run({"info"}).out.find("onednn, loops, reference"), std::string::npos);
  const Json json = parse_json(reprise_run({"info", "--json", "-"}).out, "info");
  EXPECT_EQ(json.find("schema_version")->integer(), 1);
  EXPECT_GT(json.find("memory_available_bytes")->integer(), 0);
  EXPECT_EQ(json.find("executors")->items().size(), 3U);
  EXPECT_NE(json.find("libraries")->find("oneDNN"), nullptr);
}

TEST(Commands, ModelsAsTextAndJson) {
  EXPECT_NE(reprise_run({"models"}).out.find("pythia-160m"), std::string::npos);
  const Json json = parse_json(reprise_run({"models", "gpt2", "--json", "-"}).out, "models");
  EXPECT_EQ(json.find("n_parameters")->integer(), 124439808);  // as published
  EXPECT_TRUE(json.find("tied")->boolean());
  // 6 N + 12 L H Q T
  EXPECT_DOUBLE_EQ(json.find("flops_per_token")->number(), 6.0 * 124439808 + 12.0 * 12 * 12 * 64 * 1024);
  // Of a mixture the parameters of one token; every other layer sees no further than its window.
  const Json mixtral = parse_json(reprise_run({"models", "Mixtral-8x7B-v0.1", "--json", "-"}).out, "models");
  EXPECT_EQ(mixtral.find("n_parameters")->integer(), 46702792704);
  const std::int64_t active = 46702792704 - std::int64_t{32} * 6 * 3 * 4096 * 14336;
  EXPECT_EQ(mixtral.find("n_parameters_active")->integer(), active);
  EXPECT_DOUBLE_EQ(mixtral.find("flops_per_token")->number(), 6.0 * static_cast<double>(active) + 12.0 * 32 * 32 * 128 * 32768);
  const Json gemma = parse_json(reprise_run({"models", "Gemma-2-2b", "--json", "-"}).out, "models");
  EXPECT_TRUE(gemma.find("tied")->boolean());
  EXPECT_EQ(gemma.find("n_parameters_untied")->integer(), 3204165888);
  EXPECT_DOUBLE_EQ(gemma.find("flops_per_token")->number(),
                   6.0 * (3204165888 - 256000.0 * 2304) + 12.0 * 13 * 8 * 256 * (4096 + 8192));
  const std::string text = reprise_run({"models", "Gemma-2-2b"}).out;
  EXPECT_NE(text.find("4096 keys in 13 of 26 layers"), std::string::npos) << text;
  const std::string experts = reprise_run({"models", "Qwen3-30B-A3B"}).out;
  EXPECT_NE(experts.find("128 of width 768, 8 for a token, in every layer"), std::string::npos) << experts;
}

TEST(Commands, TracePrintsEveryStage) {
  std::size_t before = 0;
  for (const char* stage : {"forward", "joint", "step", "claimed", "scheduled"}) {
    const ProgramResult result = reprise_run({"trace", "toy-gpt", "--block_size", "8", "--stage", stage});
    ASSERT_EQ(result.status, 0) << result.err;
    const Trace trace = parse_trace(result.out);
    EXPECT_EQ(print_trace(trace), result.out) << stage;
    const std::string name = stage;
    if (name == "joint" || name == "step") {
      EXPECT_GT(trace.nodes.size(), before) << stage;
    }
    EXPECT_EQ(result.out.find(" by loops") != std::string::npos, name == "claimed" || name == "scheduled") << stage;
    before = trace.nodes.size();
  }
}

/// What run-trace prints of each output, without the hash.
std::vector<std::string> shown(const std::vector<std::string>& words) {
  const ProgramResult result = reprise_run(words);
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<std::string> lines = lines_of(result.out);
  for (std::string& line : lines) line = line.substr(0, line.find(", xxh3 "));
  return lines;
}

TEST(Commands, RunTraceIsTheSameOnEveryExecutorAndThreadCount) {
  const TemporaryDirectory folder;
  const std::string file = folder / "step.trace";
  ASSERT_EQ(reprise_run({"trace", "toy-llama", "--block_size", "8", "--out", file}).status, 0);
  const std::vector<std::string> run{"run-trace", file, "--executors", "loops,reference"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return reprise_run(more);
  };
  const ProgramResult one = with({"--threads", "1"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_TRUE(std::regex_search(one.out, std::regex("^%loss float32\\[\\]: min [0-9.]+, max [0-9.]+, mean [0-9.]+, xxh3 [0-9a-f]{16}\n")))
      << one.out;
  EXPECT_EQ(one.out.find("NaN"), std::string::npos);
  EXPECT_EQ(with({"--threads", "2"}).out, one.out);
  EXPECT_NE(with({"--seed", "2"}).out, one.out);
  // The loops keep the contract of the reference bit for bit.
  EXPECT_EQ(reprise_run({"run-trace", file, "--executors", "reference"}).out, one.out);
  // oneDNN adds in another order: the first digits are the same.
  EXPECT_EQ(shown({"run-trace", file}).size(), lines_of(one.out).size());
  EXPECT_EQ(reprise_run({"run-trace", folder / "none.trace"}).status, 2);
}

TEST(Commands, BenchOfAModelOfFewTokensDrawsThese) {
  const TemporaryDirectory folder;
  put_file(folder / "config.json",
           R"({"model_type": "reprise", "format_version": 1, "name": "few", "n_layer": 1, "n_head": 2, "n_query_groups": 1,
      "n_embd": 16, "head_size": 8, "intermediate_size": 24, "block_size": 16, "vocab_size": 7, "padded_vocab_size": 8,
      "norm_class": "rms_norm", "mlp_class": "llama", "bias": false, "tied": false})");
  const ProgramResult result = reprise_run({"bench", folder.path().string(), "--max_iters", "2", "--warmup_iters", "1"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("Vocabulary: 8, untied embeddings\n"), std::string::npos) << result.out;
}

TEST(Commands, BenchPrintsTheContractsFiguresAndJson) {
  const TemporaryDirectory folder;
  const std::vector<std::string> words{"bench", "--model_name", "toy-gpt", "--n_layer", "1", "--micro_batch_size", "2",
                                       "--global_batch_size", "4", "--max_iters", "3", "--warmup_iters", "1", "--low_precision_mode",
                                       "none", "--dump", folder / "dump", "--json", folder / "bench.json"};
  const ProgramResult result = reprise_run(words);
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> iterations = lines_of(result.err);
  ASSERT_EQ(iterations.size(), 3U) << result.err;
  EXPECT_TRUE(std::regex_match(iterations[1], std::regex("iter 1: loss [0-9]+\\.[0-9]{4}, iter time [0-9]+\\.[0-9]{2} ms, t 64")))
      << iterations[1];
  for (const char* pattern :
       {"Model name: toy-gpt", "Seq Length: 64", "Micro BS: 2", "Global BS: 4", "Number of Layers: 1", "Vocabulary: 100, untied embeddings",
        "Number of parameters \\(B\\): [0-9.]+",
        "Distributed Mode: none", "Compiler: reprise", "Recompute: none", "Average iter time: [0-9.]+ ms", "Memory used: [0-9.]+ GB",
        "Predicted memory: [0-9.]+ GB", "Peak RSS: [0-9.]+ GB", "Saved for backward size: [0-9.]+ MiB",
        "Saved for backward number of tensors: [1-9][0-9]*", "Tokens/s: [0-9.]+", "TFLOP/s: [0-9.]+", "Model FLOP utilization: [0-9.]+ %",
        "Recomputed FLOPs: 0.00 %"}) {
    EXPECT_TRUE(std::regex_search(result.out, std::regex("(^|\n)" + std::string(pattern) + "\n"))) << pattern << "\n" << result.out;
  }
  const Json json = read_json(folder / "bench.json");
  std::set<std::string> keys;
  for (const JsonMember& member : json.members()) keys.insert(member.key);
  EXPECT_EQ(keys, (std::set<std::string>{"model_name", "seq_length", "micro_batch_size", "global_batch_size", "n_layers", "n_parameters",
                                         "distributed_mode", "compiler", "recompute", "average_iter_time_ms", "median_iter_time_ms",
                                         "memory_used_bytes", "memory_used_gb", "predicted_memory_bytes", "predicted_memory_gb",
                                         "persistent_bytes", "transient_bytes", "saved_for_backward_bytes", "saved_for_backward_count",
                                         "tokens_per_second", "tflops", "model_flop_utilization_percent", "recomputed_flops_percent",
                                         "peak_rss_bytes", "compile_ms", "n_kernels", "n_distinct_kernels", "losses", "schema_version"}));
  EXPECT_GT(json.find("n_kernels")->integer(), json.find("n_distinct_kernels")->integer());
  EXPECT_GE(json.find("predicted_memory_bytes")->integer(), json.find("memory_used_bytes")->integer());
  EXPECT_GT(json.find("memory_used_bytes")->integer(), json.find("persistent_bytes")->integer());
  EXPECT_FALSE(std::filesystem::is_empty(folder / "dump"));

  // Node by node computes the same bits in more memory.
  std::vector<std::string> eager_words = words;
  eager_words.insert(eager_words.end(), {"--compile", "eager", "--quiet"});
  const ProgramResult eager = reprise_run(eager_words);
  ASSERT_EQ(eager.status, 0) << eager.err;
  const Json by_node = read_json(folder / "bench.json");
  EXPECT_EQ(by_node.find("compiler")->string(), "eager");
  EXPECT_EQ(*by_node.find("losses"), *json.find("losses"));
  EXPECT_GT(by_node.find("memory_used_bytes")->integer(), json.find("memory_used_bytes")->integer());
}

}  // namespace
}  // namespace reprise::test
