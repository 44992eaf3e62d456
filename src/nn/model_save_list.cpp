// SPDX-License-Identifier: Apache-2.0
#include "nn/model_save_list.h"

namespace reprise {

ModelSaveList model_save_list(const GptConfig& config) {
  if (config.mlp_class == MlpClass::llama_moe) return {"experts", {"default", "gather", "scatter_add", "softmax"}};
  return {"dense", {"default"}};
}

}  // namespace reprise
