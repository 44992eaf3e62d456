// SPDX-License-Identifier: Apache-2.0
// Options of `reprise train`.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::array kRows{
    OptionRow{.name = "data", .kind = paths, .group = data, .commands = kTrain | kEval, .placeholder = "PATH...",
              .help = "files or folders: text, JSON lines, token files; .gz and .zst are read too, - is standard input"},
    OptionRow{.name = "val_data", .kind = text, .group = data, .commands = kTrain, .default_text = "0.1", .placeholder = "PATH|FRACTION",
              .help = "file or folder to validate on, or the share of the training data kept for it; 0 is no validation"},
    OptionRow{.name = "data_format", .kind = choice, .group = data, .commands = kTrain | kEval, .default_text = "auto",
              .choices = "auto|text|jsonl|llm.c|nanogpt",
              .help = "what the files hold: auto goes by name (.jsonl, .ndjson) and by the header of llm.c's .bin"},
    OptionRow{.name = "text_field", .kind = text, .group = data, .commands = kTrain | kEval, .placeholder = "NAME",
              .help = "field of a JSON line that holds its text; by default text, or prompt and completion"},
    OptionRow{.name = "mask_prompt", .kind = flag, .group = data, .commands = kTrain | kEval, .default_text = "True",
              .help = "of JSON lines with prompt and completion, learn the completion only"},
    OptionRow{.name = "pack_documents", .kind = flag, .group = data, .commands = kTrain, .default_text = "False",
              .help = "fill rows with whole documents, which do not attend to one another, instead of windows of the running text"},
    OptionRow{.name = "tokenizer", .kind = text, .group = data, .commands = kTrain, .default_text = "char",
              .placeholder = "char|bpe:N|FILE",
              .help = "one token per character, byte-level BPE with N tokens trained on the data, or a tokenizer.json or .tiktoken file"},
    OptionRow{.name = "out", .kind = path, .group = output, .commands = kTrain, .placeholder = "RUN",
              .help = "run folder to create: configuration, metrics, checkpoints and the model"},
    OptionRow{.name = "resume", .kind = path, .group = output, .commands = kTrain, .placeholder = "RUN", .command_line_only = true,
              .help = "continue the run in this folder from its latest checkpoint; its options hold, only the end, intervals, "
                      "threads and recompute may change"},
    OptionRow{.name = "overwrite", .kind = flag, .group = output, .commands = kTrain, .default_text = "False", .command_line_only = true,
              .help = "remove the run folder first if it exists"},
    OptionRow{.name = "eval_interval", .kind = integer, .group = output, .commands = kTrain, .default_text = "250", .minimum = 0,
              .changes_on_resume = true, .help = "steps between validations; 0 is never"},
    OptionRow{.name = "eval_batches", .kind = integer, .group = output, .commands = kTrain, .default_text = "0", .minimum = 0,
              .changes_on_resume = true, .help = "validation batches measured, spread evenly; 0 is all"},
    OptionRow{.name = "sample_interval", .kind = integer, .group = output, .commands = kTrain, .default_text = "0", .minimum = 0,
              .changes_on_resume = true, .help = "steps between samples of generated text; 0 is never"},
    OptionRow{.name = "save_interval", .kind = integer, .group = output, .commands = kTrain, .default_text = "500", .minimum = 0,
              .changes_on_resume = true, .help = "steps between checkpoints; 0 is only at the end"},
    OptionRow{.name = "keep_last", .kind = integer, .group = output, .commands = kTrain, .default_text = "2", .minimum = 1,
              .changes_on_resume = true, .help = "number of checkpoints kept"},
    OptionRow{.name = "log_interval", .kind = integer, .group = output, .commands = kTrain, .default_text = "10", .minimum = 1,
              .changes_on_resume = true, .help = "steps between lines of progress and metrics"},

    OptionRow{.name = "max_steps", .kind = integer, .group = schedule, .commands = kTrain, .default_text = "5000", .minimum = 1,
              .maximum = 1e15, .changes_on_resume = true,
              .help = "optimizer steps to train for"},
    OptionRow{.name = "max_tokens", .kind = count, .group = schedule, .commands = kTrain, .minimum = 1, .maximum = 1e15,
              .changes_on_resume = true,
              .help = "tokens to train on, instead of max_steps"},
    OptionRow{.name = "epochs", .kind = number, .group = schedule, .commands = kTrain, .minimum = 0, .maximum = 1e6,
              .minimum_excluded = true, .changes_on_resume = true,
              .help = "passes over the data, instead of max_steps"},
    OptionRow{.name = "max_time", .kind = duration, .group = schedule, .commands = kTrain, .minimum = 0, .minimum_excluded = true,
              .changes_on_resume = true, .help = "stop after this time (90s, 30m, 2h) if the end has not come before"},
    OptionRow{.name = "micro_batch_size", .kind = integer, .group = schedule, .commands = kTrain, .default_text = "12", .minimum = 1,
              .maximum = 1e8,
              .help = "sequences computed at once"},
    OptionRow{.name = "global_batch_size", .kind = integer, .group = schedule, .commands = kTrain, .minimum = 1, .maximum = 1e9,
              .help = "sequences per optimizer step, a multiple of micro_batch_size, which is the default"},
    OptionRow{.name = "schedule", .kind = choice, .group = schedule, .commands = kTrain, .default_text = "cosine",
              .choices = "cosine|linear|constant|wsd",
              .help = "how the learning rate falls after the warm-up; wsd holds it, then decays at the end"},
    OptionRow{.name = "decay_steps", .kind = integer, .group = schedule, .commands = kTrain, .minimum = 1,
              .help = "with schedule wsd: steps over which the learning rate falls at the end; a fifth of all steps by default"},
    OptionRow{.name = "decay_shape", .kind = choice, .group = schedule, .commands = kTrain, .default_text = "linear",
              .choices = "linear|cosine|one_minus_sqrt", .help = "with schedule wsd: how it falls"},
    OptionRow{.name = "learning_rate", .kind = number, .group = schedule, .commands = kTrain, .default_text = "0.001", .minimum = 0,
              .minimum_excluded = true, .help = "highest learning rate"},
    OptionRow{.name = "min_lr", .kind = number, .group = schedule, .commands = kTrain, .minimum = 0,
              .help = "learning rate at the end; a tenth of learning_rate by default"},
    OptionRow{.name = "warmup_steps", .kind = integer, .group = schedule, .commands = kTrain, .minimum = 0,
              .help = "steps over which the learning rate rises; 100 by default, but at most a tenth of max_steps"},

    OptionRow{.name = "max_norm", .kind = number, .group = optimizer,
              .commands = kTrain | kPlanning | kTrace, .default_text = "1", .minimum = 0,
              .help = "gradients are scaled down to this global norm; 0 is no clipping"},
    OptionRow{.name = "weight_decay", .kind = number, .group = optimizer, .commands = kTrain, .default_text = "0.1", .minimum = 0,
              .help = "decay of matrices; vectors have none"},
    OptionRow{.name = "beta1", .kind = number, .group = optimizer, .commands = kTrain, .default_text = "0.9", .minimum = 0,
              .maximum = 0.999999,
              .help = "decay of AdamW's first moment"},
    OptionRow{.name = "beta2", .kind = number, .group = optimizer, .commands = kTrain, .default_text = "0.95", .minimum = 0,
              .maximum = 0.999999,
              .help = "decay of AdamW's second moment"},
};

}  // namespace

std::span<const OptionRow> train_option_rows() { return kRows; }

}  // namespace reprise
