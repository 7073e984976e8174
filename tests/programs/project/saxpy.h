#pragma once
/// y = a x + y of n floats on the host, computed on the device. Returns the error's name, or nullptr.
const char* saxpy(float a, const float* x, float* y, int n);
/// The device's name.
const char* device_name();
