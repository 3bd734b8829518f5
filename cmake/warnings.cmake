# percpu_warnings(TARGET): the warnings that all code of the project is free of.
function(percpu_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wconversion -Wundef
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<BOOL:${PERCPU_WERROR}>:-Werror>)
endfunction()
