(* The checker as an OCaml program: main.ml reads the files and calls `judge`. *)
From Nerode Require Import Check Rounding Network.
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlString ExtrOcamlNatInt.
Extraction Language OCaml.
Extraction "checker.ml" judge binary64 binary32 binary16 bfloat16.
