"""Studies that figures and commands share: best quanta over ranges of parameters."""
