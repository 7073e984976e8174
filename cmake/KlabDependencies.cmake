# The dependencies of klab. Required libraries fail with the package to install; peers to race are optional.
macro(klab_need package)  # klab_need(<Debian package> <arguments of find_package>)
  find_package(${ARGN} QUIET)
  if(NOT ${ARGV1}_FOUND)
    message(FATAL_ERROR "klab needs ${ARGV1}: sudo apt-get install ${package}")
  endif()
endmacro()

klab_need(g++ OpenMP COMPONENTS CXX)
klab_need(libc6-dev Threads)
klab_need(libbenchmark-dev benchmark)
klab_need(libcli11-dev CLI11)
klab_need(libfmt-dev fmt)
klab_need(nlohmann-json3-dev nlohmann_json)
klab_need(libhwy-dev hwy)
klab_need(libssl-dev OpenSSL COMPONENTS Crypto)
klab_need(libpng-dev PNG)
klab_need(libjpeg-dev JPEG)
klab_need(zlib1g-dev ZLIB)
find_path(FCCP_INCLUDE_DIR csv.h PATH_SUFFIXES libfccp fast-cpp-csv-parser)
if(NOT FCCP_INCLUDE_DIR)
  message(FATAL_ERROR "klab needs fast-cpp-csv-parser: sudo apt-get install libfccp-dev")
endif()
find_path(MD4C_INCLUDE_DIR md4c.h)
find_library(MD4C_LIBRARY md4c)
if(NOT MD4C_INCLUDE_DIR OR NOT MD4C_LIBRARY)
  message(FATAL_ERROR "klab needs md4c: sudo apt-get install libmd4c-dev")
endif()
# By header and library: the part of Boost that klab takes needs no other.
find_path(BOOST_CONTEXT_INCLUDE_DIR boost/context/detail/fcontext.hpp)
find_library(BOOST_CONTEXT_LIBRARY boost_context)
if(NOT BOOST_CONTEXT_INCLUDE_DIR OR NOT BOOST_CONTEXT_LIBRARY)
  message(FATAL_ERROR "klab needs Boost.Context: sudo apt-get install libboost-context-dev")
endif()
find_path(LIBDW_INCLUDE_DIR elfutils/libdwfl.h)
find_library(LIBDW_LIBRARY dw)
if(NOT LIBDW_INCLUDE_DIR OR NOT LIBDW_LIBRARY)
  message(FATAL_ERROR "klab needs libdw: sudo apt-get install libdw-dev")
endif()
option(KLAB_PEERS "Compare with OpenBLAS and oneDNN where they are installed" ON)
if(KLAB_PEERS)
  find_package(OpenBLAS CONFIG QUIET)  # libopenblas-dev, optional
endif()
# libdnnl-dev, optional. By header and library: Debian's dnnl-config.cmake is an error without OpenCL's headers,
# which oneDNN's own headers do not include.
if(KLAB_PEERS)
  find_path(DNNL_INCLUDE_DIR dnnl.hpp)
  find_library(DNNL_LIBRARY dnnl)
endif()

# A newer oneDNN, version 3, optional: PyPI's onednn-devel-cpu-gomp installs one below the prefix of its Python environment. Peers load
# it at run time next to the one above, so no header of it is needed. KLAB_ONEDNN3 names its prefix, or the library itself.
set(KLAB_ONEDNN3 "" CACHE PATH "Prefix of oneDNN 3, or its library; empty: searched in the active Python environment and the system")
if(KLAB_PEERS)
  set(KLAB_ONEDNN3_LIBRARY)
  if(KLAB_ONEDNN3 AND EXISTS "${KLAB_ONEDNN3}" AND NOT IS_DIRECTORY "${KLAB_ONEDNN3}")
    set(KLAB_ONEDNN3_LIBRARY ${KLAB_ONEDNN3})
  elseif(KLAB_ONEDNN3)
    file(GLOB found ${KLAB_ONEDNN3}/libdnnl.so.3 ${KLAB_ONEDNN3}/lib/libdnnl.so.3 ${KLAB_ONEDNN3}/lib64/libdnnl.so.3)
    if(NOT found)
      message(FATAL_ERROR "KLAB_ONEDNN3=${KLAB_ONEDNN3}: there is no lib/libdnnl.so.3; name the prefix that oneDNN 3 was installed in, "
                          "or leave the option out")
    endif()
    list(GET found 0 KLAB_ONEDNN3_LIBRARY)
  else()
    find_library(KLAB_ONEDNN3_FOUND NAMES libdnnl.so.3 HINTS ENV VIRTUAL_ENV PATH_SUFFIXES lib)
    if(KLAB_ONEDNN3_FOUND)
      set(KLAB_ONEDNN3_LIBRARY ${KLAB_ONEDNN3_FOUND})
    endif()
  endif()
endif()

# libkissfft-dev, optional: computes calls of cuFFT in programs (harness/cuda_program/fourier.cpp), which has slower loops.
find_path(KISSFFT_INCLUDE_DIR kissfft/kissfft.hh)

# Libraries for kernels. A peer that is missing leaves its variant registered and skipped, with the reason.
add_library(klab_kernel_dependencies INTERFACE)
target_link_libraries(klab_kernel_dependencies INTERFACE OpenMP::OpenMP_CXX hwy::hwy)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  target_include_directories(klab_kernel_dependencies SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
  target_link_libraries(klab_kernel_dependencies INTERFACE ${DNNL_LIBRARY})
  target_compile_definitions(klab_kernel_dependencies INTERFACE KLAB_HAVE_ONEDNN=1)
endif()
if(KLAB_ONEDNN3_LIBRARY)
  target_compile_definitions(klab_kernel_dependencies INTERFACE "KLAB_ONEDNN3_LIBRARY=\"${KLAB_ONEDNN3_LIBRARY}\"")
endif()
if(OpenBLAS_FOUND)
  target_include_directories(klab_kernel_dependencies SYSTEM INTERFACE ${OpenBLAS_INCLUDE_DIRS})
  target_link_libraries(klab_kernel_dependencies INTERFACE ${OpenBLAS_LIBRARIES})
  target_compile_definitions(klab_kernel_dependencies INTERFACE KLAB_HAVE_OPENBLAS=1)
endif()

add_library(klab_harness_dependencies INTERFACE)
target_include_directories(klab_harness_dependencies SYSTEM INTERFACE ${FCCP_INCLUDE_DIR} ${BOOST_CONTEXT_INCLUDE_DIR}
                           ${LIBDW_INCLUDE_DIR} ${MD4C_INCLUDE_DIR})
target_link_libraries(klab_harness_dependencies INTERFACE benchmark::benchmark CLI11::CLI11 fmt::fmt
                      nlohmann_json::nlohmann_json OpenSSL::Crypto OpenMP::OpenMP_CXX hwy::hwy Threads::Threads
                      ${BOOST_CONTEXT_LIBRARY} ${LIBDW_LIBRARY} ${MD4C_LIBRARY} ${CMAKE_DL_LIBS})

# libmpich-dev or libopenmpi-dev, optional: several processes train together (labs/radiance/ranks).
option(KLAB_MPI "Train with several processes by MPI where it is installed" ON)
if(KLAB_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  # libnccl-dev and the CUDA runtime, optional: sums over GPUs that need not go through the host's memory (preset cuda).
  find_path(NCCL_INCLUDE_DIR nccl.h)
  find_library(NCCL_LIBRARY nccl)
  find_path(KLAB_CUDART_INCLUDE_DIR cuda_runtime_api.h HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include)
  find_library(KLAB_CUDART_LIBRARY cudart HINTS $ENV{CUDA_HOME}/lib64 $ENV{CUDA_PATH}/lib64 /usr/local/cuda/lib64)
endif()

# libcpp-httplib-dev, optional: the pages of klab view and klab step --page. Debian compiles the library with options, with which its header has to be
# read, too; klab_http has what programs link, and the one file that includes the header gets KLAB_HTTP_DEFINITIONS.
option(KLAB_HTTP "Serve live pages by cpp-httplib where it is installed" ON)
set(KLAB_HTTP_DEFINITIONS)
add_library(klab_http INTERFACE)
if(KLAB_HTTP)
  find_path(HTTPLIB_INCLUDE_DIR httplib.h)
  find_library(HTTPLIB_LIBRARY cpp-httplib)
endif()
if(KLAB_HTTP AND HTTPLIB_INCLUDE_DIR AND HTTPLIB_LIBRARY)
  target_link_libraries(klab_http INTERFACE ${HTTPLIB_LIBRARY})
  get_filename_component(folder ${HTTPLIB_LIBRARY} DIRECTORY)
  if(EXISTS ${folder}/pkgconfig/cpp-httplib.pc)
    file(STRINGS ${folder}/pkgconfig/cpp-httplib.pc line REGEX "^Cflags:")
    string(REGEX MATCHALL "CPPHTTPLIB_[A-Z0-9_]+" KLAB_HTTP_DEFINITIONS "${line}")
  endif()
  list(APPEND KLAB_HTTP_DEFINITIONS KLAB_HAVE_HTTPLIB=1)
endif()

# libwebp-dev, optional: Gaussians as SOG. One file includes its headers, labs/radiance/splat/webp_picture.cpp.
option(KLAB_WEBP "Read and write Gaussians as SOG by libwebp where it is installed" ON)
if(KLAB_WEBP)
  find_path(WEBP_INCLUDE_DIR webp/encode.h)
  find_library(WEBP_LIBRARY webp)
endif()

# libzstd-dev, optional: Gaussians as SPZ of version 4. One file includes its headers, labs/radiance/splat/zstd_stream.cpp.
option(KLAB_ZSTD "Read and write Gaussians as SPZ 4 by libzstd where it is installed" ON)
if(KLAB_ZSTD)
  find_path(ZSTD_INCLUDE_DIR zstd.h)
  find_library(ZSTD_LIBRARY zstd)
endif()

# Labs read and write images, and read compressed data.
add_library(klab_lab_dependencies INTERFACE)
target_link_libraries(klab_lab_dependencies INTERFACE PNG::PNG JPEG::JPEG ZLIB::ZLIB)
if(KLAB_WEBP AND WEBP_INCLUDE_DIR AND WEBP_LIBRARY)
  target_link_libraries(klab_lab_dependencies INTERFACE ${WEBP_LIBRARY})
endif()
if(KLAB_ZSTD AND ZSTD_INCLUDE_DIR AND ZSTD_LIBRARY)
  target_link_libraries(klab_lab_dependencies INTERFACE ${ZSTD_LIBRARY})
endif()
