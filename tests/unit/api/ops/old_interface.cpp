// SPDX-License-Identifier: Apache-2.0
// A shared object of ops that was built for an interface before the first.
#include "reprise/op.h"

extern "C" int reprise_ops_interface() { return 0; }
extern "C" void reprise_register_ops() { reprise::register_op("never_there", {}); }
