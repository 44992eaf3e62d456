// SPDX-License-Identifier: Apache-2.0
#include "executor/loops/executor.h"

#include "base/error.h"
#include "executor/loops/registry.h"

namespace reprise {
namespace loops {

Registry::Registry() {
  register_pointwise(*this);
  register_movement(*this);
  register_reductions(*this);
  register_rows(*this);
  register_products(*this);
  register_attention(*this);
  register_indexing(*this);
  register_gathering(*this);
  register_ordering(*this);
  register_draws(*this);
  register_step(*this);
}

}  // namespace loops

namespace {

class LoopsExecutor final : public Executor {
 public:
  std::string_view name() const override { return "loops"; }

  std::optional<Claim> claim(const ClaimRequest& request) const override {
    const loops::Entry* const entry = registry_.find(request.node.opcode);
    if (entry == nullptr) return std::nullopt;
    std::optional<Claim> claim = entry->claim(request);
    if (claim) claim->row_stable = true;
    return claim;
  }

  Kernel bind(const BindRequest& request) const override {
    const loops::Entry* const entry = registry_.find(request.node.opcode);
    REPRISE_CHECK(entry != nullptr, "loops binds what it claims");
    return entry->bind(request, loops::kernels_for(request.target.isa));
  }

 private:
  loops::Registry registry_;
};

}  // namespace

const Executor& loops_executor() {
  static const LoopsExecutor executor;
  return executor;
}

}  // namespace reprise
