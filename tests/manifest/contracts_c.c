/* The generated headers as plain C: they compile alone and hold what the manifest says. */
#include "tenon/contracts/elementwise.h"
#include "tenon/contracts/matmul.h"
#include "tenon/contracts/norm.h"
#include "tenon/contracts/reduction.h"

_Static_assert(TENON_RMS_NORM_FWD_FIELD_EPS == 2, "eps is the third field");
_Static_assert(TENON_SUM_FWD_ARG_OUTPUT == 1, "output is the second argument");

const tenon_contract *tenon_test_rms_norm_contract(void);
const tenon_contract *tenon_test_rms_norm_contract(void) { return &tenon_contract_rms_norm_fwd; }
