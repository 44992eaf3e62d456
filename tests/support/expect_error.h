// SPDX-License-Identifier: Apache-2.0
// Requires that a statement throws a reprise error whose text holds a phrase.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <string_view>

#include "base/error.h"

namespace reprise::test {

template <class ErrorType, class Function>
void expect_error(const Function& function, std::string_view phrase, const char* file, int line) {
  std::string problem;
  try {
    function();
    problem = "nothing was thrown";
  } catch (const ErrorType& error) {
    if (std::string_view(error.what()).find(phrase) != std::string_view::npos) return;
    problem = std::string("the text is: ") + error.what();
  } catch (const std::exception& error) {
    problem = std::string("an error of another kind was thrown: ") + error.what();
  }
  ADD_FAILURE_AT(file, line) << "expected an error saying: " << phrase << "\n" << problem;
}

}  // namespace reprise::test

#define EXPECT_USER_ERROR(statement, phrase) \
  ::reprise::test::expect_error<::reprise::UserError>([&] { statement; }, (phrase), __FILE__, __LINE__)
#define EXPECT_INTERNAL_ERROR(statement, phrase) \
  ::reprise::test::expect_error<::reprise::InternalError>([&] { statement; }, (phrase), __FILE__, __LINE__)
