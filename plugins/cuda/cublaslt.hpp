// cuBLASLt, opened at first use, so that the plugin loads on a machine without it.
#pragma once

#include <cublasLt.h>
#include <string>

namespace tenon::cuda {

/// The functions that the plugin calls, or why there are none.
struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  std::string missing;  ///< empty: everything is there

  [[nodiscard]] bool is_there() const { return missing.empty(); }
};

/// Opens the library at the first call; the same answer for the whole process. Where the plugin's
/// option `cublaslt` names a file, that one; else the toolkit's name, as the dynamic linker finds
/// it, then in the toolkit's usual folder.
[[nodiscard]] const CublasLt& cublaslt();
/// Sets the option's value; before the first call of cublaslt().
void set_cublaslt_path(std::string path);

/// The handle of a device, made at its first use and kept for the process. Only where
/// cublaslt().is_there().
/// Errors   throws what check_cublaslt does.
[[nodiscard]] cublasLtHandle_t cublaslt_handle(int device_index);

/// Throws a Failure with the library's words: OUT_OF_MEMORY where it could not allocate, else
/// DEVICE.
void check_cublaslt(cublasStatus_t status, const char* what);
/// The same after work was given to a stream of the device, which is current. An error of earlier
/// work, which the library's status does not tell, is told as such and marks the device where it
/// ends it.
void check_cublaslt(cublasStatus_t status, const char* what, int device_index, cudaStream_t stream);

}  // namespace tenon::cuda
