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
  Fabove : forall x c, above F x c = Some (negb (Qle_bool x c));
  Fgreater : forall x y, greater F x y = Some (negb (Qle_bool x y));
  Fentry : forall l i, entry F l i = nth_error l i }.

(* A claim holds in a format, step by step, in any order of every sum. *)
Definition exact_in (f : format) (claim : arithmetic Q -> Prop) : Prop :=
  forall rnd F, (forall x y, x == y -> rnd x == rnd y) -> (forall x, fits f x -> rnd x == x) ->
  float_like f rnd F -> claim F.

(* ---- Parallel scans ---- *)

(* A scan computes the states of a diagonal layer for all positions at once.  A step h -> gate * h + write is the pair
   (gate, write), the start is the pair (0, start), and neighbouring groups of steps are joined in any grouping:
   (a1, b1) and then (a2, b2) make (a2 * a1, a2 * b1 + b2), rounded. *)
Inductive scanned (rnd : Q -> Q) : list (Q * Q) -> Q -> Q -> Prop :=
| ScanOne a b : scanned rnd [(a, b)] a b
| ScanJoin l m a1 b1 a2 b2 b : scanned rnd l a1 b1 -> scanned rnd m a2 b2 -> by_tree rnd [a2 * b1; b2 * 1] b ->
    scanned rnd (l ++ m) (rnd (a2 * a1)) b.

Section Parallel.
Variables (rnd : Q -> Q) (F : arithmetic Q).
(* a layer before and after its recurrence, see layer_step in Network.v *)
Definition read_inputs (l : layer) (stream : list Q) : option (list Q * list Q) :=
  r <- traverse (entry F stream) (reads l) ;; u <- relu_values F (units l) r ;; Some (r, u).
Definition write_outputs (l : layer) (r new old stream : list Q) : option (list Q) :=
  let inside := r ++ new ++ (if exposes_previous l then old else []) in
  s <- relu_values F (readout_units l) inside ;; out <- map_values F (readout l) (inside ++ s) ;; Some (stream ++ out).
(* the steps so far, one list for each coordinate, with those of one more position *)
Definition extend (steps : list (list (Q * Q))) (g w : list Q) : option (list (list (Q * Q))) :=
  gw <- zip (fun x y => Some (x, y)) g w ;; zip (fun l p => Some (l ++ [p])) steps gw.
(* A diagonal layer: at every position each coordinate is the result of some scan over all steps up to there. *)
Inductive scan_run (l : layer) (gs ws : affine_map) : list (list (Q * Q)) -> list Q -> list (list Q) -> list (list Q) -> Prop :=
| ScanEnd steps h : scan_run l gs ws steps h [] []
| ScanNext steps h s ss r u g w steps' new out outs :
    read_inputs l s = Some (r, u) -> map_values F gs (r ++ u) = Some g -> map_values F ws (r ++ u) = Some w ->
    extend steps g w = Some steps' -> Forall2 (fun l x => exists a, scanned rnd l a x) steps' new ->
    write_outputs l r new h s = Some out -> scan_run l gs ws steps' new ss outs ->
    scan_run l gs ws steps h (s :: ss) (out :: outs).
(* Any other layer: one position after the other. *)
Fixpoint layer_run V (O : arithmetic V) (l : layer) (w : list letter) (streams : list (list V)) (h : list V) : option (list (list V)) :=
  match w, streams with
  | [], [] => Some []
  | a :: w, s :: ss => p <- layer_step O l a s h ;; outs <- layer_run O l w ss (fst p) ;; Some (snd p :: outs)
  | _, _ => None
  end.
Definition parallel_layer (l : layer) (w : list letter) (streams outs : list (list Q)) : Prop :=
  exists h, traverse (const F) (start l) = Some h /\
  match recurrence l with
  | Gated gs ws => scan_run l gs ws (map (fun x => [(0, x)]) h) h streams outs
  | _ => layer_run F l w streams h = Some outs
  end.
Inductive parallel_layers (w : list letter) : list layer -> list (list Q) -> list (list Q) -> Prop :=
| NoLayers streams : parallel_layers w [] streams streams
| OneLayer l ls streams between outs : parallel_layer l w streams between -> parallel_layers w ls between outs ->
    parallel_layers w (l :: ls) streams outs.
Definition embed V (O : arithmetic V) (N : network) (a : letter) : option (list V) :=
  e <- nth_error (embedding N) a ;; traverse (const O) e.
(* the answers at all positions of a word, layer after layer *)
Definition parallel (N : network) (w : list letter) (answers : list answer) : Prop :=
  exists streams outs, traverse (embed F N) w = Some streams /\ parallel_layers w (layers N) streams outs /\
  traverse (answer_of F (decode N)) outs = Some answers.
End Parallel.

(* Whatever a parallel evaluation in the format returns, its last answer is as claimed (for every word, so that all
   answers are). *)
Definition exact_in_any_grouping (f : format) (N : network) (claim : list letter -> answer -> Prop) : Prop :=
  forall rnd F, (forall x y, x == y -> rnd x == rnd y) -> (forall x, fits f x -> rnd x == x) -> float_like f rnd F ->
  forall w answers, over (num_letters N) w -> parallel rnd F N w answers -> claim w (last answers (empty_answer N)).
