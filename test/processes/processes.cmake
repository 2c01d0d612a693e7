# Real programs as processes of this machine, over the model of rdma-core in ../rdma_model.
