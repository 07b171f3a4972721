"""The secrecy trial: pairs of runs on data that differ in secrets alone, in which every message to the compared role
must be equal. It is independent of the compiler's proof, so that each can reveal errors of the other."""
