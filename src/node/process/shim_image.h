/* The program grove-shim, as it was built with this one. */
#ifndef NODE_PROCESS_SHIM_IMAGE_H
#define NODE_PROCESS_SHIM_IMAGE_H

extern const char shim_image[], shim_image_end[];

#endif
