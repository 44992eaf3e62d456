// SPDX-License-Identifier: Apache-2.0
// The names behind `--executors`.
#include "executor/executor_list.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace reprise {
namespace {

TEST(ExecutorList, NamesInTheOrderGiven) {
  const ExecutorList list = make_executor_list("reference,loops");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]->name(), "reference");
  EXPECT_EQ(list[1]->name(), "loops");
  const ExecutorList all = make_executor_list();
  ASSERT_EQ(all.size(), executor_names().size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->name(), executor_names()[i]);
}

TEST(ExecutorList, RefusesUnknownRepeatedAndEmptyNames) {
  EXPECT_USER_ERROR(make_executor_list("loop"),
                    "there is no executor 'loop'; did you mean \"loops\"?; there are: onednn, loops, reference");
  EXPECT_USER_ERROR(make_executor_list("loops,loops"), "an executor given twice: loops");
  EXPECT_USER_ERROR(make_executor_list(""), "there is no executor ''");
  EXPECT_USER_ERROR(make_executor_list("loops,"), "there is no executor ''");
}

}  // namespace
}  // namespace reprise
