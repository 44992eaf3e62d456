// SPDX-License-Identifier: Apache-2.0
// A shared object that brings no ops.
int api_test_nothing() { return 0; }
