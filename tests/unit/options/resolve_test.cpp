// SPDX-License-Identifier: Apache-2.0
#include "options/resolve.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "io/directory.h"
#include "options/option_table.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace reprise {
namespace {

using Words = std::vector<std::string>;

ResolvedOptions train(Words words) {
  words.insert(words.begin(), {"--data", "a.txt", "--out", "run"});
  return resolve_options(Command::train, words);
}

ResolvedOptions bench(const Words& words) { return resolve_options(Command::bench, words); }
ResolvedOptions generate(Words words) {
  words.insert(words.begin(), "run");
  return resolve_options(Command::generate, words);
}

TEST(Resolve, DefaultsHaveTheirSource) {
  const ResolvedOptions options = bench({});
  EXPECT_EQ(options.get_text("model"), "Llama-2-7b-hf");
  EXPECT_EQ(options.get_int("max_iters"), 45);
  EXPECT_EQ(options.get_int("warmup_iters"), 25);
  EXPECT_EQ(options.get_int("seed"), 1337);
  EXPECT_EQ(options.get_int("global_batch_size"), 1);
  EXPECT_EQ(options.option("global_batch_size").source, OptionSource::derived);
  EXPECT_EQ(options.option("max_iters").source, OptionSource::default_value);
  EXPECT_FALSE(options.given("max_iters"));
  EXPECT_FALSE(options.has("n_layers"));
  EXPECT_FALSE(options.has("prompt"));
  EXPECT_EQ(options.get_list("executors"), (Words{"onednn", "loops", "reference"}));
}

TEST(Resolve, EverySpellingOfAnOption) {
  for (const Words& words : {Words{"--max_iters", "50"}, Words{"--max-iters", "50"}, Words{"--max_iters=50"}, Words{"--max-iters=50"}}) {
    const ResolvedOptions options = bench(words);
    EXPECT_EQ(options.get_int("max_iters"), 50);
    EXPECT_EQ(options.option("max_iters").source, OptionSource::command_line);
    EXPECT_TRUE(options.given("max_iters"));
  }
}

TEST(Resolve, EverySpellingOfAFlag) {
  for (const Words& words : {Words{"--tie_embeddings"}, Words{"--tie-embeddings", "True"}, Words{"--tie_embeddings=true"}}) {
    EXPECT_TRUE(bench(words).get_flag("tie_embeddings"));
  }
  for (const Words& words : {Words{"--no_tie_embeddings"}, Words{"--no-tie-embeddings"}, Words{"--tie_embeddings", "False"},
                             Words{"--tie_embeddings=false"}}) {
    EXPECT_FALSE(bench(words).get_flag("tie_embeddings"));
  }
  EXPECT_FALSE(generate({"--no_stream"}).get_flag("stream"));
  const ResolvedOptions options = bench({"--tie_embeddings", "pythia-160m"});
  EXPECT_EQ(options.get_text("model"), "pythia-160m");
}

TEST(Resolve, TheFieldsBenchmarkLinesAreAccepted) {
  const ResolvedOptions options = bench({"--model_name", "pythia-160m", "--n_layer", "4", "--low_precision_mode", "none", "--compile",
                                         "eager", "--checkpoint_activations", "False", "--micro_batch_size", "2"});
  EXPECT_EQ(options.get_text("model"), "pythia-160m");
  EXPECT_EQ(options.get_int("n_layers"), 4);
  EXPECT_EQ(options.get_text("compile"), "eager");
  EXPECT_EQ(options.get_int("global_batch_size"), 2);
}

TEST(Resolve, PathsTakeWordsUntilTheNextOption) {
  const ResolvedOptions options = resolve_options(
      Command::train, Words{"--data", "a.txt", "-", "c.txt", "--out", "run", "--data=d.txt", "pythia-160m"});
  EXPECT_EQ(options.get_list("data"), (Words{"a.txt", "-", "c.txt", "d.txt"}));
  EXPECT_EQ(options.get_text("model"), "pythia-160m");
}

TEST(Resolve, TwoDashesEndTheOptions) {
  EXPECT_EQ(resolve_options(Command::bench, Words{"--", "--odd"}).get_text("model"), "--odd");
  EXPECT_EQ(generate({"--prompt=--odd"}).get_text("prompt"), "--odd");
  EXPECT_EQ(generate({"--prompt", "a=b c"}).get_text("prompt"), "a=b c");
  EXPECT_EQ(generate({"--prompt="}).get_text("prompt"), "");
}

TEST(Resolve, WrongWordsAreNamed) {
  EXPECT_USER_ERROR(bench({"--max_iter", "5"}),
                    "unknown option --max_iter; did you mean --max_iters? (reprise bench --help lists the options)");
  EXPECT_USER_ERROR(bench({"--frobnicate"}), "unknown option --frobnicate (reprise bench");
  EXPECT_USER_ERROR(bench({"--max_steps", "5"}), "option --max_steps belongs to train, not to bench");
  EXPECT_USER_ERROR(bench({"-x"}), "unknown option -x; options start with two dashes");
  EXPECT_USER_ERROR(bench({"a", "b"}), "unexpected argument \"b\"; bench already has \"a\"");
  EXPECT_USER_ERROR(resolve_options(Command::info, Words{"a"}), "unexpected argument \"a\"; info takes none");
  EXPECT_USER_ERROR(bench({"a", "--model", "b"}), "MODEL and --model are the same option; give it once");
  EXPECT_USER_ERROR(bench({"--n_layers", "1", "--n_layer", "1"}), "--n_layers and --n_layer are the same option; give it once");
  EXPECT_USER_ERROR(bench({"--seed", "1", "--seed", "2"}), "--seed is given twice; give it once");
  EXPECT_USER_ERROR(bench({"--seed"}), "option --seed needs a value: --seed N, or --seed=VALUE for one that starts with a dash");
  EXPECT_USER_ERROR(bench({"--json", "--seed", "1"}), "option --json needs a value: --json FILE");
  EXPECT_USER_ERROR(bench({"--no_tie_embeddings=True"}),
                    "--no_tie_embeddings takes no value; write --tie_embeddings or --no_tie_embeddings");
  EXPECT_USER_ERROR(bench({"--no_seed"}), "unknown option --no_seed");
  EXPECT_USER_ERROR(bench({"--tie_embeddings=maybe"}), "--tie_embeddings: \"maybe\" is neither True nor False");
}

TEST(Resolve, WrongValuesAreNamed) {
  EXPECT_USER_ERROR(bench({"--max_iters", "many"}), "--max_iters: \"many\" is not an integer");
  EXPECT_USER_ERROR(bench({"--max_iters", "-3"}), "--max_iters: -3 is out of range; give at least 1");
  EXPECT_USER_ERROR(bench({"--compile", "thunder"}), "--compile: \"thunder\" is not available; choose reprise, eager");
  EXPECT_USER_ERROR(bench({"--compile", "inductor"}), "--compile: \"inductor\" is not available; choose reprise, eager");
  EXPECT_USER_ERROR(bench({"--low_precision_mode", "fp8"}), "\"fp8\" is not available; choose none");
  EXPECT_USER_ERROR(bench({"--executors", "loops,cublas"}), "--executors: \"cublas\" is not available; choose onednn, loops, reference");
  EXPECT_USER_ERROR(train({"--dropout", "1"}), "--dropout: 1 is out of range; give at least 0 and at most 0.99");
  EXPECT_USER_ERROR(train({"--epochs", "0"}), "--epochs: 0 is out of range; give above 0");
  EXPECT_USER_ERROR(train({"--schedule", "cosin"}), "choose cosine, linear, constant, wsd; did you mean \"cosine\"?");
}

TEST(Resolve, StandardInputIsReadOnce) {
  const auto all = [](Words words) {
    words.insert(words.begin(), {"--out", "run"});
    return resolve_options(Command::train, words);
  };
  EXPECT_USER_ERROR(all({"--data", "-", "-"}), "standard input can be read once, and data and data ask for it; give a file for one");
  EXPECT_USER_ERROR(all({"--data", "-", "--recompute", "ops:-"}), "and data and recompute ask for it");
  EXPECT_USER_ERROR(all({"--data", "-", "--val_data", "-", "--tokenizer", "-"}), "and tokenizer and val_data and data ask for it");
  EXPECT_NO_THROW(all({"--data", "a", "-", "--recompute", "ops:list-"}));
  EXPECT_NO_THROW(train({"--recompute", "file:-"}));
}

TEST(Resolve, ResultsGoToPlacesOfTheirOwn) {
  const auto plan = [](Words words) {
    words.insert(words.begin(), {"toy-gpt", "--recompute", "full"});
    return resolve_options(Command::plan, words);
  };
  EXPECT_USER_ERROR(plan({"--out", "a", "--json", "./b/../a"}), "json and out are to be written to one place; give each its own: ./b/../a");
  EXPECT_USER_ERROR(plan({"--svg", "-", "--out", "-"}), "svg and out are to be written to one place; give each its own: standard output");
  EXPECT_USER_ERROR(resolve_options(Command::eval, Words{"m", "--data", "d", "--json", "r", "--per_document", "r"}),
                    "json and per_document are to be written");
  EXPECT_NO_THROW(plan({"--out", "a", "--json", "b", "--svg", "-"}));
  EXPECT_NO_THROW(plan({"--out", "/dev/null", "--json", "/dev/null"}));
  const test::TemporaryDirectory folder;
  test::put_file(folder / "there", "");
  std::filesystem::create_symlink("there", folder / "link");
  EXPECT_USER_ERROR(plan({"--out", folder / "there", "--json", folder / "link"}), "json and out are to be written to one place");
}

TEST(Resolve, ACheckOfNoneAgainstItself) {
  EXPECT_USER_ERROR(bench({"--check_recompute"}),
                    "check_recompute does not act with recompute none, with which it compares; leave it out, or choose a policy");
  EXPECT_USER_ERROR(train({"--check_recompute", "--recompute", "none"}), "check_recompute does not act with recompute none");
  EXPECT_NO_THROW(train({"--check_recompute"}));
  EXPECT_NO_THROW(bench({"--check_recompute", "--checkpoint_activations"}));
}

TEST(Resolve, APolicyOfATraceThatIsPrintedBeforeIt) {
  const auto trace = [](const char* stage) {
    return resolve_options(Command::trace, Words{"toy-gpt", "--recompute", "full", "--stage", stage});
  };
  for (const std::string stage : {"forward", "joint", "step", "claimed"}) {
    EXPECT_USER_ERROR(trace(stage.c_str()), "recompute full does not act at stage " + stage + "; leave it out, or add --stage recomputed");
  }
  EXPECT_NO_THROW(trace("recomputed"));
  EXPECT_NO_THROW(trace("scheduled"));
}

TEST(Resolve, WhatIsMissingIsNamed) {
  EXPECT_USER_ERROR(resolve_options(Command::train, Words{}),
                    "train needs --data PATH... and --out RUN: reprise train --data PATH... --out RUN [MODEL]");
  EXPECT_USER_ERROR(resolve_options(Command::train, Words{"--data", "a"}), "train needs --out RUN: reprise train");
  EXPECT_USER_ERROR(resolve_options(Command::generate, Words{}), "generate needs RUN: reprise generate RUN");
  EXPECT_USER_ERROR(resolve_options(Command::eval, Words{}), "eval needs MODEL and --data PATH...: reprise eval MODEL --data PATH...");
  EXPECT_USER_ERROR(resolve_options(Command::trace, Words{}), "trace needs MODEL");
  EXPECT_USER_ERROR(resolve_options(Command::run_trace, Words{}), "run-trace needs FILE");
  EXPECT_USER_ERROR(resolve_options(Command::completion, Words{}), "completion needs bash|zsh|fish");
  EXPECT_USER_ERROR(resolve_options(Command::completion, Words{"tcsh"}), "\"tcsh\" is not available; choose bash, zsh, fish");
  EXPECT_NO_THROW(resolve_options(Command::train, Words{"--print_config"}));
}

TEST(Resolve, HelpIsGivenWhateverElseIsWrong) {
  EXPECT_TRUE(bench({"--max_iters", "many", "--help"}).get_flag("help"));
  EXPECT_TRUE(resolve_options(Command::train, Words{"-h"}).get_flag("help"));
  EXPECT_FALSE(bench({}).get_flag("help"));
}

TEST(Resolve, ConfigurationFileThenCommandLine) {
  const test::TemporaryDirectory folder;
  const std::string file = (folder / "c.toml").string();
  test::put_file(file, "max_iters = 60\nwarmup_iters = 3\nexecutors = [\"loops\"]\ntie_embeddings = true\n");
  const ResolvedOptions options = bench({"--config", file, "--warmup_iters", "4"});
  EXPECT_EQ(options.get_int("max_iters"), 60);
  EXPECT_EQ(options.option("max_iters").origin, file + ":1");
  EXPECT_EQ(options.option("max_iters").source, OptionSource::file);
  EXPECT_EQ(options.get_int("warmup_iters"), 4);
  EXPECT_EQ(options.option("warmup_iters").origin, "command line");
  EXPECT_EQ(options.get_list("executors"), Words{"loops"});
  EXPECT_TRUE(options.get_flag("tie_embeddings"));
}

TEST(Resolve, ConfigurationErrorsNameFileLineAndKey) {
  const test::TemporaryDirectory folder;
  const std::string file = (folder / "c.toml").string();
  const auto with = [&](std::string_view text) {
    test::put_file(file, text);
    return bench({"--config", file});
  };
  EXPECT_USER_ERROR(with("seed = 1\nmax_iter = 60\n"), "c.toml:2: unknown key \"max_iter\"; did you mean \"max_iters\"?");
  EXPECT_USER_ERROR(with("frobnicate = 1\n"), "c.toml:1: unknown key \"frobnicate\"; reprise bench --help lists the options");
  EXPECT_USER_ERROR(with("[train]\nseed = 1\n"), "c.toml:2: unknown key \"train.seed\"");
  EXPECT_USER_ERROR(with("n_layer = 1\n"), "unknown key \"n_layer\"; did you mean \"n_layers\"?");
  EXPECT_USER_ERROR(with("max_steps = 1\n"), "c.toml:1: key \"max_steps\" belongs to train, not to bench; remove it");
  EXPECT_USER_ERROR(with("json = \"a\"\n"), "c.toml:1: key \"json\" is an option of the command line only; remove it");
  EXPECT_USER_ERROR(with("max_iters = \"60\"\n"), "c.toml:1: max_iters: must be an integer, not a string");
  EXPECT_USER_ERROR(with("max_iters = 0\n"), "c.toml:1: max_iters: 0 is out of range; give at least 1");
  EXPECT_USER_ERROR(with("tie_embeddings = 1\n"), "tie_embeddings: must be true or false, not an integer");
  EXPECT_USER_ERROR(with("executors = [1]\n"), "executors: must be a string or a list of strings");
  EXPECT_USER_ERROR(with("max_iters = \n"), "c.toml:1:");
  EXPECT_USER_ERROR(bench({"--config", (folder / "none.toml").string()}), "none.toml: no such file or directory");
}

TEST(Resolve, PrintedConfigurationGivesTheSameOptions) {
  const test::TemporaryDirectory folder;
  const std::string file = (folder / "c.toml").string();
  const ResolvedOptions first = resolve_options(
      Command::train, Words{"--data", "a \"b\".txt", "c", "--out", "run", "--max_tokens", "1.5M", "--max_time", "2h", "--trainable",
                            "a.*,b", "--learning_rate", "3e-4", "--val_data", "0.05", "--n_layers", "2", "--quiet"});
  const std::string text = config_text(first);
  test::put_file(file, text);
  const ResolvedOptions second = resolve_options(Command::train, Words{"--config", file});
  for (const ResolvedOption& option : first.entries()) {
    if (!option.row->command_line_only) {
      EXPECT_EQ(second.option(option.row->name).value, option.value) << option.row->name;
    }
  }
  EXPECT_NE(text.find("max_tokens = 1500000                      # command line\n"), std::string::npos) << text;
  EXPECT_NE(text.find("min_lr = 2.9999999999999997e-05           # default, from learning_rate\n"), std::string::npos) << text;
  EXPECT_NE(text.find("beta1 = 0.9                               # default\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# max_steps is not set\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("quiet"), std::string::npos) << text;
  EXPECT_NE(config_text(second).find("beta1 = 0.9                               # " + file), std::string::npos);
}

TEST(Resolve, OneEndOfTraining) {
  EXPECT_EQ(train({}).get_int("max_steps"), 5000);
  const ResolvedOptions tokens = train({"--max_tokens", "2B"});
  EXPECT_EQ(tokens.get_int("max_tokens"), 2'000'000'000);
  EXPECT_FALSE(tokens.has("max_steps"));
  EXPECT_USER_ERROR(train({"--max_tokens", "1k", "--epochs", "2"}), "max_tokens and epochs each say when training ends; give one");
  const test::TemporaryDirectory folder;
  const std::string file = (folder / "c.toml").string();
  test::put_file(file, "max_tokens = 1000\n");
  const ResolvedOptions steps = train({"--config", file, "--max_steps", "7"});
  EXPECT_EQ(steps.get_int("max_steps"), 7);
  EXPECT_FALSE(steps.has("max_tokens"));
}

TEST(Resolve, ValuesThatFollowFromOthers) {
  EXPECT_EQ(train({"--micro_batch_size", "3"}).get_int("global_batch_size"), 3);
  EXPECT_EQ(train({"--learning_rate", "0.5"}).get_number("min_lr"), 0.05);
  EXPECT_EQ(train({"--max_steps", "50"}).get_int("warmup_steps"), 5);
  EXPECT_EQ(train({"--max_steps", "50000"}).get_int("warmup_steps"), 100);
  EXPECT_EQ(train({"--epochs", "1"}).get_int("warmup_steps"), 100);
  EXPECT_FALSE(train({"--schedule", "constant"}).has("min_lr"));
  EXPECT_EQ(train({"--schedule", "wsd"}).get_int("decay_steps"), 1000);
  EXPECT_EQ(train({"--schedule", "wsd", "--decay_steps", "7"}).get_int("decay_steps"), 7);
  EXPECT_FALSE(train({"--schedule", "wsd", "--epochs", "1"}).has("decay_steps"));
  EXPECT_FALSE(train({}).has("decay_steps"));
}

TEST(Resolve, ContradictionsAreRefused) {
  EXPECT_USER_ERROR(train({"--micro_batch_size", "4", "--global_batch_size", "6"}),
                    "global_batch_size must be a multiple of micro_batch_size, not 6 with 4; change one");
  EXPECT_USER_ERROR(train({"--min_lr", "0.1"}), "min_lr must be at most learning_rate, not 0.1 with 0.001; change one");
  EXPECT_USER_ERROR(train({"--schedule", "constant", "--min_lr", "0"}), "min_lr does not act with schedule constant; leave one out");
  EXPECT_USER_ERROR(train({"--max_steps", "5", "--warmup_steps", "6"}), "warmup_steps must be at most max_steps, not 6 with 5; change one");
  EXPECT_USER_ERROR(train({"--decay_steps", "5"}), "decay_steps acts only with schedule wsd; leave it out, or add --schedule wsd");
  EXPECT_USER_ERROR(train({"--decay_shape", "cosine"}), "decay_shape acts only with schedule wsd");
  EXPECT_USER_ERROR(train({"--learning_rate", "0"}), "--learning_rate: 0 is out of range; give above 0");
  EXPECT_USER_ERROR(train({"--master_weights"}), "master_weights acts only with dtype bfloat16; leave it out, or add --dtype bfloat16");
  EXPECT_USER_ERROR(train({"--rounding", "nearest"}), "rounding acts only with dtype bfloat16; leave it out, or add --dtype bfloat16");
  EXPECT_USER_ERROR(train({"--rounding", "nearest", "--dtype", "bfloat16", "--master_weights"}),
                    "rounding does not act with master_weights");
  EXPECT_NO_THROW(train({"--rounding", "nearest", "--dtype", "bfloat16"}));
  EXPECT_USER_ERROR(train({"--val_data", "1.5"}), "val_data must be a file or a share of at least 0 and below 1, not \"1.5\"");
  EXPECT_NO_THROW(train({"--val_data", "0"}));
  EXPECT_USER_ERROR(train({"--tokenizer", "bpe:many"}), "tokenizer bpe:N needs an integer N above 256, not \"bpe:many\"");
  EXPECT_USER_ERROR(train({"--tokenizer", "bpe:256"}), "above 256");
  EXPECT_USER_ERROR(train({"--tokenizer="}), "tokenizer must be char, bpe:N or a file, not \"\"");
  EXPECT_NO_THROW(train({"--tokenizer", "bpe:1000"}));
  EXPECT_USER_ERROR(bench({"--max_iters", "10"}),
                    "warmup_iters must be below max_iters, so that an iteration is counted, not 25 with 10; change one");
  EXPECT_EQ(bench({"--checkpoint_activations", "True"}).get_text("recompute"), "full");
  EXPECT_USER_ERROR(bench({"--checkpoint_activations", "True", "--recompute", "ops"}),
                    "checkpoint_activations True is recompute full, not ops; give one");
  EXPECT_USER_ERROR(bench({"--compat_eager"}),
                    "compat_eager does not act with recompute none; leave it out, or choose full, layers:N, ops or alternate");
  EXPECT_USER_ERROR(bench({"--no_early_stop", "--recompute", "auto"}), "no_early_stop does not act with recompute auto");
  EXPECT_FALSE(bench({"--compat_eager", "--recompute", "ops"}).get_flag("early_stop"));
  EXPECT_TRUE(bench({"--compat_eager", "--early_stop", "--recompute", "ops"}).get_flag("early_stop"));
  EXPECT_USER_ERROR(generate({"--temperature", "0", "--top_k", "5"}),
                    "top_k does not act with temperature 0, which always takes the likeliest token; leave one out");
  EXPECT_USER_ERROR(generate({"--temperature", "0", "--top_p", "0.5"}), "top_p does not act with temperature 0");
}

class ResumedRun : public testing::Test {
 protected:
  ResumedRun() {
    make_directories(run());
    test::put_file(run() + "/config.toml", config_text(train({"--max_steps", "10", "--seed", "5", "--block_size", "64"})));
  }
  std::string run() const { return (folder_ / "run").string(); }
  ResolvedOptions resume(Words words) const {
    words.insert(words.begin(), {"--resume", run()});
    return resolve_options(Command::train, words);
  }

 private:
  test::TemporaryDirectory folder_;
};

TEST_F(ResumedRun, KeepsItsOptions) {
  const ResolvedOptions options = resume({"--max_steps", "20", "--threads", "2"});
  EXPECT_EQ(options.get_int("seed"), 5);
  EXPECT_EQ(options.get_int("block_size"), 64);
  EXPECT_EQ(options.get_int("max_steps"), 20);
  EXPECT_EQ(options.get_int("warmup_steps"), 1);
  EXPECT_EQ(options.get_text("out"), run());
  EXPECT_EQ(options.get_list("data"), Words{"a.txt"});
}

TEST_F(ResumedRun, EndsByTokensWhenTold) {
  const ResolvedOptions options = resume({"--max_tokens", "1M"});
  EXPECT_FALSE(options.has("max_steps"));
  EXPECT_EQ(options.get_int("max_tokens"), 1'000'000);
}

TEST_F(ResumedRun, MayNotChangeWhatChangesBits) {
  EXPECT_NO_THROW(resume({"--seed", "5"}));
  EXPECT_USER_ERROR(resume({"--seed", "6"}), "a resumed run may not change seed; leave it out, or start another run with --out");
  EXPECT_USER_ERROR(resume({"--seed", "6", "--eval_interval", "1", "--n_layers", "3", "other"}),
                    "a resumed run may not change seed, n_layers, model; leave them out");
  EXPECT_USER_ERROR(resume({"--overwrite"}), "resume continues a run and overwrite removes it; give one");
  EXPECT_USER_ERROR(resume({"--out", "x"}), "--resume and --out exclude each other");
  EXPECT_USER_ERROR(resume({"--config", "x"}), "--resume and --config exclude each other");
  EXPECT_USER_ERROR(resume({"--init_from", "x"}), "a resumed run may not change init_from");
}

TEST_F(ResumedRun, TakesItsWeightsFromTheRun) {
  test::put_file(run() + "/config.toml", config_text(train({"--max_steps", "10", "--init_from", "weights"})));
  EXPECT_NO_THROW(resume({}));
  EXPECT_USER_ERROR(resume({"--init_from", "weights"}), "resume takes its weights from the run; leave init_from out");
}

TEST_F(ResumedRun, MustBeARun) {
  EXPECT_USER_ERROR(resolve_options(Command::train, Words{"--resume", run() + "x"}), "config.toml: no such file or directory");
}

TEST(Invocation, FindsTheCommand) {
  EXPECT_EQ(parse_invocation(Words{}).kind, Invocation::Kind::general_help);
  EXPECT_EQ(parse_invocation(Words{"--help"}).kind, Invocation::Kind::general_help);
  EXPECT_EQ(parse_invocation(Words{"--version"}).kind, Invocation::Kind::version);
  EXPECT_EQ(parse_invocation(Words{"run-trace", "a"}).options->command(), Command::run_trace);
  EXPECT_EQ(parse_invocation(Words{"run_trace", "-"}).options->get_text("file"), "-");
  EXPECT_EQ(parse_invocation(Words{"bench", "--max_iters", "60"}).options->get_int("max_iters"), 60);
  EXPECT_USER_ERROR(parse_invocation(Words{"trian"}),
                    "unknown command \"trian\"; did you mean \"train\"? (reprise --help lists the commands)");
  EXPECT_USER_ERROR(parse_invocation(Words{"--quiet", "train"}), "the command comes first, not --quiet");
}

TEST(ResolvedOptions, WrongUseIsABug) {
  const ResolvedOptions options = bench({});
  EXPECT_INTERNAL_ERROR(options.get_int("prompt"), "bench has no option prompt");
  EXPECT_INTERNAL_ERROR(options.get_int("n_layers"), "option n_layers is read but has no value");
  EXPECT_INTERNAL_ERROR(options.get_text("seed"), "option seed is read as another kind than it is");
}

}  // namespace
}  // namespace reprise
