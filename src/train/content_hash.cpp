// SPDX-License-Identifier: Apache-2.0
#include "train/content_hash.h"

#include <xxhash.h>

#include "base/error.h"

namespace reprise {

void ContentHash::Deleter::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

ContentHash::ContentHash() : state_(XXH3_createState()) {
  REPRISE_CHECK(state_ != nullptr, "no memory for a hash state");
  XXH3_64bits_reset(state_.get());
}

ContentHash::~ContentHash() = default;

void ContentHash::add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }

void ContentHash::add(std::uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }

void ContentHash::add(std::string_view text) {
  add(std::uint64_t{text.size()});
  add(std::as_bytes(std::span(text)));
}

std::uint64_t ContentHash::digest() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace reprise
