"""The trial of secrecy: pairs of worlds that differ in secrets alone, in which every message to the compared role must
be the same. It knows nothing of the compiler's proof, so that each can find what is wrong with the other."""
