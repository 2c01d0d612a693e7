#!/bin/sh
# Comes up, that is all.
. /lab/guest.sh
ends
