// SPDX-License-Identifier: Apache-2.0
#include "api/parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/session.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/nearest.h"
#include "train/gpt_programs.h"

namespace reprise {
namespace {

/// The bytes of a parameter in the engine; UserError when the module has none of this name.
std::span<std::byte> storage(Session& session, std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedParameter& parameter : session.parameters) names.push_back(parameter.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw UserError(fmt::format("the model has no parameter '{}'{}", name, nearest_hint(name, names)));
  }
  return session.engine->bytes(name);
}

const StepParameter* trained_with_master(const Session& session, std::string_view name) {
  const auto found =
      std::find_if(session.trained.begin(), session.trained.end(), [&](const StepParameter& one) { return one.name == name; });
  return found == session.trained.end() || found->master.empty() ? nullptr : &*found;
}

std::vector<TensorSlot> slots(Session& session) {
  std::vector<TensorSlot> all;
  for (const NamedParameter& parameter : session.parameters) {
    all.push_back({parameter.name, session.dtype, parameter.shape.extents(), session.engine->bytes(parameter.name)});
  }
  return all;
}

}  // namespace

std::vector<ParameterInfo> Parameters::list() const {
  std::vector<ParameterInfo> all;
  for (const NamedParameter& parameter : session_->parameters) {
    all.push_back({parameter.name, {session_->dtype, parameter.shape, Device::cpu}});
  }
  return all;
}

std::span<const std::byte> Parameters::read_bytes(std::string_view name, DType dtype) const {
  const std::span<const std::byte> bytes = storage(*session_, name);
  if (dtype != session_->dtype) {
    throw UserError(fmt::format("parameter '{}' is {}, read as {}", name, dtype_name(session_->dtype), dtype_name(dtype)));
  }
  return bytes;
}

std::vector<float> Parameters::read_floats(std::string_view name) const {
  if (session_->dtype == DType::float32) {
    const auto elements = read<float>(name);
    return {elements.begin(), elements.end()};
  }
  std::vector<float> floats;
  if (session_->dtype == DType::bfloat16) {
    for (const bfloat16 x : read<bfloat16>(name)) floats.push_back(to_float(x));
  } else {
    for (const double x : read<double>(name)) floats.push_back(static_cast<float>(x));
  }
  return floats;
}

void Parameters::write(std::string_view name, ArrayView elements) {
  const std::span<std::byte> bytes = storage(*session_, name);
  const bool rounded = session_->dtype == DType::bfloat16 && elements.dtype() == DType::float32;
  if (elements.size() * dtype_size(session_->dtype) != bytes.size() || (elements.dtype() != session_->dtype && !rounded)) {
    throw UserError(fmt::format("parameter '{}' has {} elements of {}; given {} of {}", name, bytes.size() / dtype_size(session_->dtype),
                                dtype_name(session_->dtype), elements.size(), dtype_name(elements.dtype())));
  }
  const StepParameter* const with_master = trained_with_master(*session_, name);
  if (!rounded) {
    copy_bytes(bytes, elements.bytes());
    if (with_master != nullptr) reset_masters(std::span(with_master, 1), *session_->engine);
    return;
  }
  const std::span<const float> exact(reinterpret_cast<const float*>(elements.bytes().data()), elements.size());
  const std::span<bfloat16> narrow = session_->engine->values<bfloat16>(name);
  std::transform(exact.begin(), exact.end(), narrow.begin(), [](float x) { return to_bfloat16(x); });
  if (with_master != nullptr) std::copy(exact.begin(), exact.end(), session_->engine->values<float>(with_master->master).begin());
}

void Parameters::save(const std::filesystem::path& path) const { save_weights(path, slots(*session_)); }

void Parameters::load(const std::filesystem::path& path) {
  load_weights(path, slots(*session_));
  reset_masters(session_->trained, *session_->engine);
}

}  // namespace reprise
