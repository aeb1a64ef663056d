BEGIN TRANSACTION;
CREATE TABLE incarnations (
    job INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    tag INTEGER NOT NULL, epoch INTEGER NOT NULL, seed TEXT NOT NULL, slots INTEGER NOT NULL,
    servers TEXT NOT NULL, looks_up INTEGER NOT NULL
);
INSERT INTO "incarnations" VALUES(2,121320780,1475759207,'18446744073709551615',90,'[["10.19.0.100", 19539]]',1);
INSERT INTO "incarnations" VALUES(3,1360076937,1592280987,'4410165242542421119',10,'[["10.19.0.100", 19539]]',1);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, multicast_group INTEGER NOT NULL,
    admission INTEGER NOT NULL, request TEXT NOT NULL
);
INSERT INTO "jobs" VALUES(2,'a',2,2,'{"name": "a", "workers": ["w2", "w3", "w4"], "slots": 90, "codec": "thc", "ops": ["ADD32", "EXPAND8", "TABLE8", "ADD8X4", "OR", "MAX", "EXPAND16", "EXPAND8TO16", "EXPAND3TO8", "EXPAND5TO8"], "udp_port": 19540, "seed": 18446744073709551615, "quota": 5, "priority": 2, "quorum": 3, "best_effort": false, "lease_s": 7.5}');
INSERT INTO "jobs" VALUES(3,'b',3,3,'{"name": "b", "workers": ["w1", "w2", "w3", "w4"], "slots": 10, "codec": "thc", "ops": ["ADD32", "EXPAND8", "TABLE8", "ADD8X4", "OR", "MAX", "EXPAND16", "EXPAND8TO16", "EXPAND3TO8", "EXPAND5TO8"], "udp_port": 19541, "seed": null, "quota": null, "priority": 0, "quorum": 0, "best_effort": true, "lease_s": 120.0}');
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO "meta" VALUES('next_job',4);
INSERT INTO "meta" VALUES('next_admission',4);
INSERT INTO "meta" VALUES('schema',3);
CREATE TABLE ranges (
    switch TEXT NOT NULL, job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    base INTEGER NOT NULL, slots INTEGER NOT NULL, shared INTEGER NOT NULL,
    PRIMARY KEY (switch, job)
);
INSERT INTO "ranges" VALUES('s0',2,0,90,0);
INSERT INTO "ranges" VALUES('s0',3,90,10,1);
INSERT INTO "ranges" VALUES('s1',2,0,90,0);
INSERT INTO "ranges" VALUES('s1',3,90,10,1);
INSERT INTO "ranges" VALUES('s2',2,0,90,0);
INSERT INTO "ranges" VALUES('s2',3,90,10,1);
CREATE TABLE tickets (
    job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE, worker INTEGER NOT NULL,
    claimant TEXT NOT NULL, origin TEXT NOT NULL, description TEXT,
    PRIMARY KEY (job, worker)
);
INSERT INTO "tickets" VALUES(3,0,'p0','process 17 at w1','thc');
INSERT INTO "tickets" VALUES(3,1,'p1','process 18 at w2',NULL);
COMMIT;
