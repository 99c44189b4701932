/* tenon_tensor has DLTensor's layout and tenon_dtype DLDataType's; the numbers of both agree. */
#include "tenon/plugin.h"

_Static_assert(sizeof(tenon_tensor) == 48, "DLTensor has 48 bytes");
_Static_assert(offsetof(tenon_tensor, data) == 0 && offsetof(tenon_tensor, device_type) == 8 &&
                   offsetof(tenon_tensor, device_id) == 12 && offsetof(tenon_tensor, rank) == 16 &&
                   offsetof(tenon_tensor, dtype) == 20 && offsetof(tenon_tensor, shape) == 24 &&
                   offsetof(tenon_tensor, strides) == 32 &&
                   offsetof(tenon_tensor, byte_offset) == 40,
               "the fields stand where DLTensor has them");
_Static_assert(sizeof(tenon_dtype) == 4 && offsetof(tenon_dtype, code) == 0 &&
                   offsetof(tenon_dtype, bits) == 1 && offsetof(tenon_dtype, lanes) == 2,
               "DLDataType");
/* Source: dlpack.h of DLPack 1.1, enum DLDataTypeCode. */
_Static_assert(TENON_DTYPE_INT == 0 && TENON_DTYPE_UINT == 1 && TENON_DTYPE_FLOAT == 2 &&
                   TENON_DTYPE_BFLOAT == 4 && TENON_DTYPE_COMPLEX == 5 && TENON_DTYPE_BOOL == 6,
               "codes of the plain types");
_Static_assert(TENON_DTYPE_FLOAT8_E4M3 == 8 && TENON_DTYPE_FLOAT8_E4M3FN == 10 &&
                   TENON_DTYPE_FLOAT8_E4M3FNUZ == 11 && TENON_DTYPE_FLOAT8_E5M2 == 12 &&
                   TENON_DTYPE_FLOAT8_E5M2FNUZ == 13 && TENON_DTYPE_FLOAT8_E8M0FNU == 14 &&
                   TENON_DTYPE_FLOAT4_E2M1FN == 17,
               "codes of the small floats");

#ifdef TENON_WITH_DLPACK
#include <dlpack/dlpack.h>

#define SAME(field, theirs)                                                               \
  _Static_assert(offsetof(tenon_tensor, field) == offsetof(DLTensor, theirs) &&           \
                     sizeof(((tenon_tensor*)0)->field) == sizeof(((DLTensor*)0)->theirs), \
                 #field)
_Static_assert(sizeof(tenon_tensor) == sizeof(DLTensor), "DLTensor");
SAME(data, data);
SAME(rank, ndim);
SAME(dtype, dtype);
SAME(shape, shape);
SAME(strides, strides);
SAME(byte_offset, byte_offset);
#if DLPACK_VERSION >= 60
#define DEVICE_FIELD device
#else
#define DEVICE_FIELD ctx
#endif
_Static_assert(offsetof(tenon_tensor, device_type) ==
                   offsetof(DLTensor, DEVICE_FIELD) + offsetof(DLDevice, device_type),
               "device_type");
_Static_assert(offsetof(tenon_tensor, device_id) ==
                   offsetof(DLTensor, DEVICE_FIELD) + offsetof(DLDevice, device_id),
               "device_id");
_Static_assert(sizeof(tenon_dtype) == sizeof(DLDataType) &&
                   offsetof(tenon_dtype, lanes) == offsetof(DLDataType, lanes),
               "DLDataType");
_Static_assert(TENON_DTYPE_INT == kDLInt && TENON_DTYPE_UINT == kDLUInt &&
                   TENON_DTYPE_FLOAT == kDLFloat && TENON_DTYPE_BFLOAT == kDLBfloat &&
                   TENON_DTYPE_COMPLEX == kDLComplex,
               "codes that dlpack 0.6 has");
#endif

typedef int tenon_dlpack_agrees;
