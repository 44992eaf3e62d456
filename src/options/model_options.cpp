// SPDX-License-Identifier: Apache-2.0
// Options that say which model, shared by the commands that take one.
#include <array>

#include "options/option_rows.h"

namespace reprise {
namespace {

using enum OptionKind;
using enum OptionGroup;

constexpr std::array kRows{
    OptionRow{.name = "model", .kind = text, .group = model, .commands = kTrain, .default_text = "baby-gpt", .placeholder = "MODEL",
              .aliases = "model_name",
              .help = "a name (see reprise models), a Hugging Face folder, a GGUF file, a run folder or a .toml file; "
                      "a name gives shapes, a folder its weights too"},
    OptionRow{.name = "model", .kind = text, .group = model, .commands = kBench, .default_text = "Llama-2-7b-hf", .placeholder = "MODEL",
              .aliases = "model_name",
              .help = "a name (see reprise models), a Hugging Face folder, a GGUF file, a run folder or a .toml file"},
    OptionRow{.name = "model", .kind = text, .group = model, .commands = kTrace | kPlanning | kModels, .placeholder = "MODEL",
              .aliases = "model_name",
              .help = "a name (see reprise models), a Hugging Face folder, a GGUF file, a run folder or a .toml file"},
    OptionRow{.name = "model", .kind = text, .group = model, .commands = kGenerate, .placeholder = "RUN", .aliases = "model_name",
              .help = "a run folder, a Hugging Face folder with its tokenizer, or a GGUF file"},
    OptionRow{.name = "model", .kind = text, .group = model, .commands = kEval, .placeholder = "MODEL", .aliases = "model_name",
              .help = "a run folder, a checkpoint of one (RUN/step-N), a Hugging Face folder with its tokenizer, or a GGUF file"},
    OptionRow{.name = "ignore_config_keys", .kind = list, .group = model,
              .commands = kTrain | kGenerate | kEval | kBench | kPlanning | kTrace | kModels | kExport, .placeholder = "KEY,...",
              .help = "keys of a config.json that are not known here and do not change what the model computes"},
    OptionRow{.name = "n_layers", .kind = integer, .group = model, .commands = kTrain | kBench | kPlanning | kTrace, .minimum = 1,
              .maximum = 10000, .aliases = "n_layer",
              .help = "number of layers, instead of the model's own"},
    OptionRow{.name = "block_size", .kind = integer, .group = model, .commands = kTrain | kEval | kBench | kPlanning | kTrace, .minimum = 1,
              .maximum = 1e9,
              .help = "sequence length in tokens, at most the model's own, which is the default"},
    OptionRow{.name = "init_from", .kind = path, .group = model, .commands = kTrain, .placeholder = "FOLDER",
              .help = "start from the weights of a Hugging Face folder, such as a run's model/, or of a GGUF file"},
    OptionRow{.name = "dropout", .kind = number, .group = model, .commands = kTrain, .default_text = "0", .minimum = 0, .maximum = 0.99,
              .help = "share of activations dropped while training"},
    OptionRow{.name = "trainable", .kind = list, .group = model, .commands = kTrain | kPlanning | kTrace, .placeholder = "GLOB,...",
              .help = "train only the parameters whose names match; the others stay as they are"},
    OptionRow{.name = "tie_embeddings", .kind = flag, .group = model, .commands = kBench | kPlanning | kTrace, .default_text = "False",
              .help = "let the output layer share the embedding's matrix"},
};

}  // namespace

std::span<const OptionRow> model_option_rows() { return kRows; }

}  // namespace reprise
