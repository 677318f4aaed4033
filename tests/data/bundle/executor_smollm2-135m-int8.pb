
ß€?
kv_cache_k_0kv_cache_k_0kv_cache_k_0"kv_cache_k_008H€?
kv_cache_v_0kv_cache_v_0kv_cache_v_0"kv_cache_v_008H€?
kv_cache_k_1kv_cache_k_1kv_cache_k_1"kv_cache_k_108H€?
kv_cache_v_1kv_cache_v_1kv_cache_v_1"kv_cache_v_108H€?
kv_cache_k_2kv_cache_k_2kv_cache_k_2"kv_cache_k_208H€?
kv_cache_v_2kv_cache_v_2kv_cache_v_2"kv_cache_v_208H€?
kv_cache_k_3kv_cache_k_3kv_cache_k_3"kv_cache_k_308H€?
kv_cache_v_3kv_cache_v_3kv_cache_v_3"kv_cache_v_308H€?
kv_cache_k_4kv_cache_k_4kv_cache_k_4"kv_cache_k_408H€?
kv_cache_v_4kv_cache_v_4kv_cache_v_4"kv_cache_v_408H€?
kv_cache_k_5kv_cache_k_5kv_cache_k_5"kv_cache_k_508H€?
kv_cache_v_5kv_cache_v_5kv_cache_v_5"kv_cache_v_508H€?
kv_cache_k_6kv_cache_k_6kv_cache_k_6"kv_cache_k_608H€?
kv_cache_v_6kv_cache_v_6kv_cache_v_6"kv_cache_v_608H€?
kv_cache_k_7kv_cache_k_7kv_cache_k_7"kv_cache_k_708H€?
kv_cache_v_7kv_cache_v_7kv_cache_v_7"kv_cache_v_708H€?
kv_cache_k_8kv_cache_k_8kv_cache_k_8"kv_cache_k_808H€?
kv_cache_v_8kv_cache_v_8kv_cache_v_8"kv_cache_v_808H€?
kv_cache_k_9kv_cache_k_9kv_cache_k_9"kv_cache_k_908H€?
kv_cache_v_9kv_cache_v_9kv_cache_v_9"kv_cache_v_908H€C
kv_cache_k_10kv_cache_k_10kv_cache_k_10"kv_cache_k_1008H€C
kv_cache_v_10kv_cache_v_10kv_cache_v_10"kv_cache_v_1008H€C
kv_cache_k_11kv_cache_k_11kv_cache_k_11"kv_cache_k_1108H€C
kv_cache_v_11kv_cache_v_11kv_cache_v_11"kv_cache_v_1108H€C
kv_cache_k_12kv_cache_k_12kv_cache_k_12"kv_cache_k_1208H€C
kv_cache_v_12kv_cache_v_12kv_cache_v_12"kv_cache_v_1208H€C
kv_cache_k_13kv_cache_k_13kv_cache_k_13"kv_cache_k_1308H€C
kv_cache_v_13kv_cache_v_13kv_cache_v_13"kv_cache_v_1308H€C
kv_cache_k_14kv_cache_k_14kv_cache_k_14"kv_cache_k_1408H€C
kv_cache_v_14kv_cache_v_14kv_cache_v_14"kv_cache_v_1408H€C
kv_cache_k_15kv_cache_k_15kv_cache_k_15"kv_cache_k_1508H€C
kv_cache_v_15kv_cache_v_15kv_cache_v_15"kv_cache_v_1508H€C
kv_cache_k_16kv_cache_k_16kv_cache_k_16"kv_cache_k_1608H€C
kv_cache_v_16kv_cache_v_16kv_cache_v_16"kv_cache_v_1608H€C
kv_cache_k_17kv_cache_k_17kv_cache_k_17"kv_cache_k_1708H€C
kv_cache_v_17kv_cache_v_17kv_cache_v_17"kv_cache_v_1708H€C
kv_cache_k_18kv_cache_k_18kv_cache_k_18"kv_cache_k_1808H€C
kv_cache_v_18kv_cache_v_18kv_cache_v_18"kv_cache_v_1808H€C
kv_cache_k_19kv_cache_k_19kv_cache_k_19"kv_cache_k_1908H€C
kv_cache_v_19kv_cache_v_19kv_cache_v_19"kv_cache_v_1908H€C
kv_cache_k_20kv_cache_k_20kv_cache_k_20"kv_cache_k_2008H€C
kv_cache_v_20kv_cache_v_20kv_cache_v_20"kv_cache_v_2008H€C
kv_cache_k_21kv_cache_k_21kv_cache_k_21"kv_cache_k_2108H€C
kv_cache_v_21kv_cache_v_21kv_cache_v_21"kv_cache_v_2108H€C
kv_cache_k_22kv_cache_k_22kv_cache_k_22"kv_cache_k_2208H€C
kv_cache_v_22kv_cache_v_22kv_cache_v_22"kv_cache_v_2208H€C
kv_cache_k_23kv_cache_k_23kv_cache_k_23"kv_cache_k_2308H€C
kv_cache_v_23kv_cache_v_23kv_cache_v_23"kv_cache_v_2308H€C
kv_cache_k_24kv_cache_k_24kv_cache_k_24"kv_cache_k_2408H€C
kv_cache_v_24kv_cache_v_24kv_cache_v_24"kv_cache_v_2408H€C
kv_cache_k_25kv_cache_k_25kv_cache_k_25"kv_cache_k_2508H€C
kv_cache_v_25kv_cache_v_25kv_cache_v_25"kv_cache_v_2508H€C
kv_cache_k_26kv_cache_k_26kv_cache_k_26"kv_cache_k_2608H€C
kv_cache_v_26kv_cache_v_26kv_cache_v_26"kv_cache_v_2608H€C
kv_cache_k_27kv_cache_k_27kv_cache_k_27"kv_cache_k_2708H€C
kv_cache_v_27kv_cache_v_27kv_cache_v_27"kv_cache_v_2708H€C
kv_cache_k_28kv_cache_k_28kv_cache_k_28"kv_cache_k_2808H€C
kv_cache_v_28kv_cache_v_28kv_cache_v_28"kv_cache_v_2808H€C
kv_cache_k_29kv_cache_k_29kv_cache_k_29"kv_cache_k_2908H€C
kv_cache_v_29kv_cache_v_29kv_cache_v_29"kv_cache_v_2908H€