(* Specification: float arithmetic.  With Network.v this is what has to be believed of a float claim.

   A format is known by what it holds exactly.  A rounding is any function that leaves alone what the format holds;
   nothing else is assumed of it (nearest, towards zero, flush to zero ...).  A sum may be evaluated by any binary
   tree over its terms and any number of zeros, each product rounded by itself or fused into an addition. *)
From Coq Require Import QArith ZArith List Permutation.
From Nerode Require Import Network.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

(* Significand bits, and g: multiples of 2^-g are not below the smallest normal number.  The largest number of every
   format here is above 2^bits, so it plays no part. *)
Record format := Format { bits : nat; finest : nat }.
Definition binary64 := Format 53 1022.
Definition binary32 := Format 24 126.
Definition binary16 := Format 11 14.
Definition bfloat16 := Format 8 126.

Definition unit_of (g : nat) : Q := / inject_Z (2 ^ Z.of_nat g).          (* 2^-g *)
Definition fits (f : format) (x : Q) : Prop := exists (m : Z) (g : nat),
  (g <= finest f)%nat /\ x == inject_Z m * unit_of g /\ (Z.abs m <= 2 ^ Z.of_nat (bits f))%Z.

(* One evaluation of a sum of products: any binary tree over the terms. *)
Inductive tree := Leaf (c v : Q) | Node (l r : tree) | Fused (c v : Q) (r : tree).
Fixpoint products (t : tree) : list Q :=
  match t with Leaf c v => [c * v] | Node l r => products l ++ products r | Fused c v r => c * v :: products r end.
Fixpoint rounded (rnd : Q -> Q) (t : tree) : Q :=
  match t with
  | Leaf c v => rnd (c * v)
  | Node l r => rnd (rounded rnd l + rounded rnd r)
  | Fused c v r => rnd (c * v + rounded rnd r)
  end.
Definition by_tree (rnd : Q -> Q) (terms : list Q) (y : Q) : Prop :=
  exists t k, Permutation (products t) (terms ++ repeat 0 k) /\ y = rounded rnd t.

(* An arithmetic that computes in floats: it stores weights that fit as they are, and every sum is the value of some
   tree over its terms. *)
Record float_like (f : format) (rnd : Q -> Q) (F : arithmetic Q) : Prop := FloatLike {
  Fconst : forall c, fits f c -> exists y, const F c = Some y /\ y == c;
  Fsum : forall b l, fits f b -> Forall (fun x => fits f (fst x)) l ->
    exists y, sum F b l = Some y /\ by_tree rnd (b * 1 :: map (fun x => fst x * snd x) l) y;
  Fgated : forall g h w, exists y, gated F g h w = Some y /\ by_tree rnd [g * h; w * 1] y;
  Frelu : forall x, relu F x = Some (if Qle_bool x 0 then 0 else x);
  Fabove : forall x c, above F x c = Some (negb (Qle_bool x c)) }.

(* A claim holds in a format, step by step, in any order of every sum. *)
Definition exact_in (f : format) (claim : arithmetic Q -> Prop) : Prop :=
  forall rnd F, (forall x y, x == y -> rnd x == rnd y) -> (forall x, fits f x -> rnd x == x) ->
  float_like f rnd F -> claim F.
