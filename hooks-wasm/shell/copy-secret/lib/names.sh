#!/bin/bash
# The name of the Secret that is copied.
SECRET=registry
