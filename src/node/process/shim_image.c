/* See shim_image.h. The build says where it is. */
#include "node/process/shim_image.h"

__asm__("/* " SHIM_STAMP " */\n"
        ".section .rodata\n"
        ".global shim_image\n"
        ".global shim_image_end\n"
        ".balign 16\n"
        "shim_image:\n"
        ".incbin \"" SHIM_PATH "\"\n"
        "shim_image_end:\n"
        ".byte 0\n"
        ".previous\n");
