# cmake -DNVCC=… -DOPTIONS=… -DSOURCE=… -DOBJECT=… -DID=… -P CompileDevice.cmake: compiles one CUDA variant and keeps
# the compiler's report on its kernels in <object>.txt, under a line that names the variant.
get_filename_component(folder ${OBJECT} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${NVCC} ${OPTIONS} -MD -MF ${OBJECT}.d -MT ${OBJECT} -c ${SOURCE} -o ${OBJECT}
                OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
string(REGEX REPLACE "[^\n]*(ptxas info|bytes stack frame|Compile time)[^\n]*\n" "" complaints "${said}")
string(REGEX REPLACE "[^\n]*Function properties[^\n]*\n" "" complaints "${complaints}")
if(failed OR complaints MATCHES "warning")
  file(REMOVE ${OBJECT})
  message(FATAL_ERROR "${complaints}")
endif()
file(WRITE ${OBJECT}.txt "== ${ID}\n${said}")
